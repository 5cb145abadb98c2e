//! Generated tables, with the same bytes on every machine.
//!
//! A third of the columns are integers, a third short texts, a third floats, of the kinds that real
//! tables have: identifiers, codes, names, times, prices, coordinates. Values repeat about as often
//! as in real tables: zlib at level 6 compresses a column to about two fifths.

use std::io::{self, Write};

/// The seed of the random numbers of every table.
const SEED: u64 = 0x0048_7970_6F73_7479;

/// The size of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableShape {
    pub(crate) rows: u64,
    pub(crate) columns: usize,
}

impl TableShape {
    /// Returns the shape of a table of about `bytes` bytes of CSV.
    pub(crate) fn of_size(bytes: u64, columns: usize) -> io::Result<Self> {
        const SAMPLE_ROWS: u64 = 100;
        let mut sample = Vec::new();
        write_csv(Self { rows: SAMPLE_ROWS, columns }, &mut sample)?;
        Ok(Self { rows: (bytes * SAMPLE_ROWS / sample.len().max(1) as u64).max(1), columns })
    }
}

/// Writes a table as CSV with a header line.
pub(crate) fn write_csv(shape: TableShape, out: &mut impl Write) -> io::Result<()> {
    let mut columns: Vec<ColumnGenerator> = (0..shape.columns).map(ColumnGenerator::new).collect();
    let mut line = Vec::new();
    for (index, column) in columns.iter().enumerate() {
        if index > 0 {
            line.push(b',');
        }
        write!(line, "{}_{index}", column.recipe.name())?;
    }
    line.push(b'\n');
    for row in 0..shape.rows {
        for (index, column) in columns.iter_mut().enumerate() {
            if index > 0 {
                line.push(b',');
            }
            column.put(row, &mut line)?;
        }
        line.push(b'\n');
        if line.len() > 1 << 16 {
            out.write_all(&line)?;
            line.clear();
        }
    }
    out.write_all(&line)?;
    out.flush()
}

/// The kind of values that a column has.
#[derive(Clone, Copy, Debug)]
enum Recipe {
    // Integers.
    Id,
    Reference,
    Quantity,
    Account,
    Time,
    Balance,
    // Texts.
    City,
    Person,
    Code,
    Product,
    // Floats: the number of decimals.
    Price,
    Coordinate,
    Degrees,
    Rate,
}

/// Columns take one recipe of each type in turn; the first column is [`Recipe::Id`].
const INTS: [Recipe; 5] =
    [Recipe::Reference, Recipe::Quantity, Recipe::Account, Recipe::Balance, Recipe::Time];
const TEXTS: [Recipe; 4] = [Recipe::City, Recipe::Person, Recipe::Code, Recipe::Product];
const FLOATS: [Recipe; 4] = [Recipe::Price, Recipe::Coordinate, Recipe::Rate, Recipe::Degrees];

impl Recipe {
    fn of(index: usize) -> Self {
        let turn = index / 3;
        let of = |recipes: &[Self]| recipes[turn % recipes.len()];
        match index % 3 {
            0 if index == 0 => Self::Id,
            0 => of(&INTS),
            1 => of(&TEXTS),
            _ => of(&FLOATS),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::Reference => "reference",
            Self::Quantity => "quantity",
            Self::Account => "account",
            Self::Time => "time",
            Self::Balance => "balance",
            Self::City => "city",
            Self::Person => "person",
            Self::Code => "code",
            Self::Product => "product",
            Self::Price => "price",
            Self::Coordinate => "coordinate",
            Self::Degrees => "degrees",
            Self::Rate => "rate",
        }
    }
}

struct ColumnGenerator {
    recipe: Recipe,
    random: SplitMix64,
    /// The last value of an ascending column.
    last: u64,
}

impl ColumnGenerator {
    fn new(index: usize) -> Self {
        Self { recipe: Recipe::of(index), random: SplitMix64::new(index as u64), last: 0 }
    }

    fn put(&mut self, row: u64, out: &mut Vec<u8>) -> io::Result<()> {
        let random = &mut self.random;
        match self.recipe {
            Recipe::Id => write!(out, "{}", row + 1),
            Recipe::Reference => write!(out, "{}", 1 + random.below(1_000_000)),
            Recipe::Quantity => write!(out, "{}", random.skewed(100_000)),
            Recipe::Account => write!(out, "{}", 1_000_000 + random.below(60_000) * 15),
            Recipe::Balance => {
                let sign = if random.below(4) == 0 { "-" } else { "" };
                write!(out, "{sign}{}", random.skewed(1_000_000) + 1)
            }
            Recipe::Time => {
                self.last += random.skewed(1200);
                write!(out, "{}", 1_600_000_000 + self.last)
            }
            Recipe::City => out.write_all(random.pick(&CITIES).as_bytes()),
            Recipe::Person => {
                write!(out, "{} {}", random.pick(&FIRST_NAMES), random.pick(&LAST_NAMES))
            }
            Recipe::Code => {
                let letter = |random: &mut SplitMix64| random.pick(&LETTERS);
                let (a, b) = (letter(random), letter(random));
                write!(out, "{a}{b}-{:07}", random.below(10_000_000))
            }
            Recipe::Product => {
                write!(out, "{} {}", random.pick(&THINGS), random.below(5000))
            }
            Recipe::Price => put_float(random.skewed(2_000_000), 2, out),
            Recipe::Coordinate => {
                let sign = if random.below(3) == 0 { "-" } else { "" };
                out.extend_from_slice(sign.as_bytes());
                put_float(random.below(900_000), 4, out)
            }
            Recipe::Degrees => put_float(random.skewed(30_000), 1, out),
            Recipe::Rate => put_float(random.below(100_000), 3, out),
        }
    }
}

/// Writes a number with at most `decimals` decimals and at least one, without other trailing
/// zeros.
fn put_float(scaled: u64, decimals: u32, out: &mut Vec<u8>) -> io::Result<()> {
    let unit = 10_u64.pow(decimals);
    write!(out, "{}.{:0width$}", scaled / unit, scaled % unit, width = decimals as usize)?;
    while out.ends_with(b"0") && !out.ends_with(b".0") {
        out.pop();
    }
    Ok(())
}

/// SplitMix64: small, fast, and good enough for test data.
struct SplitMix64(u64);

impl SplitMix64 {
    fn new(stream: u64) -> Self {
        let mut seeder = Self(SEED ^ stream);
        Self(seeder.next())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `bound`, which must be far below 2^32 to keep the bias small.
    fn below(&mut self, bound: u64) -> u64 {
        ((self.next() >> 32) * bound) >> 32
    }

    /// Returns a number below `bound`; small numbers are more common.
    fn skewed(&mut self, bound: u64) -> u64 {
        let max = self.below(bound) + 1;
        self.below(max)
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        // Earlier entries are more common.
        let at = self.skewed(from.len() as u64);
        from[usize::try_from(at).unwrap_or_default()]
    }
}

const LETTERS: [char; 12] = ['A', 'B', 'C', 'D', 'E', 'H', 'K', 'M', 'P', 'R', 'T', 'X'];

#[rustfmt::skip]
const CITIES: [&str; 48] = [
    "Amsterdam", "Athens", "Bergen", "Berlin", "Bilbao", "Bologna", "Bordeaux", "Bremen",
    "Brno", "Bruges", "Bucharest", "Cardiff", "Copenhagen", "Cork", "Dresden", "Dublin",
    "Edinburgh", "Florence", "Gdansk", "Geneva", "Ghent", "Graz", "Hamburg", "Helsinki",
    "Istanbul", "Krakow", "Leipzig", "Lisbon", "Ljubljana", "Lyon", "Madrid", "Malmö",
    "Marseille", "Nantes", "Naples", "Oslo", "Porto", "Prague", "Riga", "Rotterdam",
    "Salzburg", "Seville", "Stockholm", "Tallinn", "Turin", "Utrecht", "Vienna", "Zürich",
];

#[rustfmt::skip]
const FIRST_NAMES: [&str; 32] = [
    "Ada", "Alan", "Anita", "Barbara", "Claude", "Dana", "Donald", "Edsger",
    "Emmy", "Frances", "Grace", "Hedy", "Ida", "Joan", "John", "Karen",
    "Ken", "Leslie", "Lynn", "Margaret", "Mary", "Niklaus", "Ole", "Peter",
    "Radia", "Robin", "Rosa", "Sofia", "Tim", "Tony", "Vera", "Wim",
];

#[rustfmt::skip]
const LAST_NAMES: [&str; 40] = [
    "Adler", "Bauer", "Berg", "Blom", "Carter", "Costa", "Dahl", "Dubois",
    "Eriksen", "Evans", "Fischer", "Garcia", "Haas", "Hopper", "Ito", "Jansen",
    "Keller", "Kovac", "Lang", "Lopez", "Martin", "Meyer", "Moreau", "Nagy",
    "Novak", "Olsen", "Parker", "Peeters", "Petrov", "Quinn", "Ricci", "Rossi",
    "Santos", "Smith", "Svensson", "Tanaka", "Visser", "Walker", "Weber", "Young",
];

#[rustfmt::skip]
const THINGS: [&str; 32] = [
    "apple", "basket", "bell", "board", "book", "bottle", "bowl", "box",
    "brush", "button", "candle", "chair", "clock", "coat", "cup", "desk",
    "fork", "glass", "hammer", "jar", "key", "lamp", "mirror", "nail",
    "paper", "pen", "plate", "rope", "shelf", "spoon", "table", "vase",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_bytes_every_time() {
        let make = || {
            let mut out = Vec::new();
            write_csv(TableShape { rows: 1000, columns: 50 }, &mut out).unwrap();
            out
        };
        let first = make();
        assert_eq!(first, make());
        assert!((390_000..430_000).contains(&first.len()), "{}", first.len());
    }

    #[test]
    fn a_table_of_a_size() {
        let mut out = Vec::new();
        write_csv(TableShape::of_size(500_000, 30).unwrap(), &mut out).unwrap();
        assert!((480_000..520_000).contains(&out.len()), "{}", out.len());
    }

    #[test]
    fn floats_are_printed_as_they_are_read_back() {
        let mut out = Vec::new();
        for (scaled, decimals) in [(1250, 2), (1000, 2), (7, 3), (0, 1)] {
            put_float(scaled, decimals, &mut out).unwrap();
            out.push(b' ');
        }
        assert_eq!(out, b"12.5 10.0 0.007 0.0 ");
    }
}
