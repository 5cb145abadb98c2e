//! The SHA-256 of the files that published figures are about.

/// Names and hashes.
pub(super) const FILES: &[(&str, &str)] = &[
    ("Apache_2k.log", "c7efa3eb686e3a96bd2f8f4457b2a7887e9cf2f3649327f1b4e87af841363ce8"),
    ("BGL_2k.log", "2a819ea540909db682005c9cf948387a40729b5c2e9f19d430e29ce704825496"),
    ("HDFS_2k.log", "7c967000980c086ed55fa6544ba4f05fe66d44622795e890c68caf8bbb635035"),
    ("Hadoop_2k.log", "9ecaeb807d50d5fb5a20982ea66f1c8d32545259a51ce7456c1ab78db0509732"),
    ("Linux_2k.log", "b3e20bc1afe732ab1bf3ed1de4bf9c809e4194e02f7dea911d918e5342e8e173"),
    ("OpenSSH_2k.log", "1e4912727fa88245113d41b16a0cd25ceadba7f931e1c406542885b91254264f"),
    ("Spark_2k.log", "2e8b9a37fc5c238253e0b8e18a8bd5e489671def91767ae1192d28c8e1f95901"),
    ("Zookeeper_2k.log", "e40e0af5ef9eb6e4097200f260b9d1f626b3676f861a432e87977242e75543d8"),
    ("airports.csv", "516c57d9d999f7a3be28ca649d2badbe3b972f07e57dc6173ab973b72d51cf52"),
    ("diamonds.csv", "9574730b03aba241d899c4a97511c5061b19358fab89510774fb6c24168345c4"),
    ("ensembl_genes.tsv", "8678239e81fa7713356937237e4d59c1b598b1fe9190b36f69cb146f10c2f449"),
    ("flights200k.ndjson", "9f0a470fd4c13d9f8f423b6840b6480ac414817f4cefab579aff383df1b7d127"),
    ("ieee_oui.csv", "6a2a3bb4983b3edcae727ed890406fc678023bd8e5010e4fb89e1312ee3885ae"),
    ("kafka_server.log", "6d1f636aa7c007e979f713e8fe670b6b5726acac3aa8160f99ffea9ff2317a6a"),
    ("lahman_Batting.csv", "bbbc9459632c738a07bbe0877970a7bbd1f4c2448193979337fe5bc3a4ab0228"),
    ("nyc_flights.csv", "563db8f117faf6ffd76aa868099df37dfa78dc17b5ac6d3d9ea6476e051a0bc4"),
    ("zeek_combined.ndjson", "5824fccf5c0c6cba2b5a8db9b4f4ba21243f9358798ed5daa4535607627952e3"),
];
