use flashscope_block::Bytes;
use rand::RngExt;
use rand::rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::values::Values;
use super::{
    COMMON_BUT_SIZE_AND_READS, Generator, Kind, Place, Places, Room, WorkloadError, field, reads,
    size,
};

/// The requests of an on-line transaction processing benchmark below its buffer pool: random pages,
/// with two reads for each write.
///
/// The page of 8 KB and the ratio come from the trace of Agrawal et al. Their 16 000 warehouses
/// take 160 GB on each of 13 controllers, 130 MB a warehouse, including the parts that this model
/// leaves out. The trace has 6.8 million requests in half an hour on one controller, which is
/// `rate=3778`.
///
/// The layout and the choice of pages come from the specification. Each warehouse has 100 000 rows
/// of stock, 30 000 customers and 300 000 order lines. The tables follow each other, in the order
/// of their keys. A hundred transactions touch 450 rows of stock (45 new orders of ten items) by
/// NURand(8191, 1, 100000). They touch 92 customers (45 of new orders, 43 of payments, 4 of order
/// status) by NURand(1023, 1, 3000) within a district. They touch 40 more customers (4 deliveries
/// to ten districts) and 44 order lines (4 of order status, 40 of deliveries) uniformly. All
/// warehouses are alike.
///
/// The model leaves out the log, which is on other drives in the trace as well, and small tables
/// and the upper levels of indexes, which stay in memory. It also leaves out appended rows, about a
/// page in ten new orders, and the buffer pool. A real buffer pool absorbs more of the frequent
/// pages. Its misses are therefore more uniform than here, and it writes a page some time after
/// reading it.
pub(super) const KIND: Kind = Kind {
    name: "tpcc",
    argument: None,
    summary: "the tables of TPC-C below a buffer pool: pages of 8 KiB by NURand, two reads to a \
              write, without the log",
    source: "Agrawal et al., USENIX ATC 2008, section 4.2; TPC Benchmark C, revision 5.11, clauses \
             1.2.1, 2.1.6 and 5.2.3",
    leaves_out: Some(
        "the log, which lies on other drives; small tables and upper levels of indexes, which \
         stay in memory; rows that are appended; and the buffer pool, which makes accesses \
         more uniform",
    ),
    fields: &[
        field(
            "warehouses",
            None,
            "number of warehouses, each with 8334 pages of 8 KiB [default: as many as fit]",
        ),
        size(Some("8KiB")),
        reads(Some("0.6666667")),
    ],
    common: COMMON_BUT_SIZE_AND_READS,
    open: |values, target| Generator::open(values, target, |room| places(values, room)),
};

/// The number of rows of a table in a warehouse, and their length in bytes (clause 1.2.1).
struct Table {
    rows: u64,
    row: u64,
}

const STOCK: Table = Table { rows: 100_000, row: 306 };
const CUSTOMER: Table = Table { rows: 30_000, row: 655 };
const ORDER_LINE: Table = Table { rows: 300_000, row: 54 };

/// The number of customers of a district.
const DISTRICT: u64 = 3_000;
/// The number of districts of a warehouse.
const DISTRICTS: u64 = 10;

/// The number of rows that a hundred transactions touch, and its parts: stock, customers by NURand,
/// and customers drawn uniformly. The remaining rows are order lines.
const TOUCHED: u64 = 626;
const OF_STOCK: u64 = 450;
const OF_CUSTOMERS: u64 = 92;
const OF_CUSTOMERS_EVENLY: u64 = 40;

impl Table {
    fn rows_per_page(&self, page: u64) -> u64 {
        (page / self.row).max(1)
    }

    fn pages(&self, page: u64) -> u64 {
        self.rows.div_ceil(self.rows_per_page(page))
    }
}

fn places(values: &Values, room: Room) -> Result<Places, WorkloadError> {
    let table = |table: Table| RowLayout {
        rows_per_page: table.rows_per_page(room.unit),
        pages: table.pages(room.unit),
    };
    let [stock, customer, order_line] = [STOCK, CUSTOMER, ORDER_LINE].map(table);
    let pages = stock.pages + customer.pages + order_line.pages;
    let most = room.units / pages;
    let field = if values.given("warehouses").is_some() { "warehouses" } else { "length" };
    let rule = format!(
        "a warehouse has {pages} pages of {}, and the target range has room for {most}",
        Bytes(room.unit)
    );
    let warehouses = match values.given("warehouses") {
        None => Some(most),
        Some(_) => values.number("warehouses", &rule, |_: &u64| true)?,
    };
    let warehouses = warehouses.filter(|count| (1..=most).contains(count));
    let warehouses = warehouses.ok_or_else(|| values.invalid(field, rule))?;
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(room.seed);
    let item = NuRand { a: 8191, c: rng.random_range(0..=8191), count: STOCK.rows };
    let of_district = NuRand { a: 1023, c: rng.random_range(0..=1023), count: DISTRICT };
    Ok(Places::TpcC(TpcC { warehouses, stock, customer, order_line, item, of_district }))
}

/// The layout of a table in each warehouse.
struct RowLayout {
    rows_per_page: u64,
    pages: u64,
}

/// The non-uniform random numbers of clause 2.1.6, from 0 on.
struct NuRand {
    a: u64,
    c: u64,
    count: u64,
}

impl NuRand {
    #[inline]
    fn draw(&self, rng: &mut Xoshiro256PlusPlus) -> u64 {
        // The clause counts rows from 1. Counting from 0 would change the result of the bitwise OR.
        let number = rng.random_range(0..=self.a) | rng.random_range(1..=self.count);
        (number + self.c) % self.count
    }
}

pub(super) struct TpcC {
    warehouses: u64,
    stock: RowLayout,
    customer: RowLayout,
    order_line: RowLayout,
    item: NuRand,
    of_district: NuRand,
}

impl TpcC {
    #[inline]
    pub(super) fn draw(&mut self, _units: u64, rng: &mut Xoshiro256PlusPlus) -> Place {
        let (first, table, row) = self.draw_row(rng);
        let warehouse = rng.random_range(0..self.warehouses);
        let unit = self.warehouses * first + warehouse * table.pages + row / table.rows_per_page;
        Place { unit, stream: 0 }
    }

    /// Draws a row of a warehouse. Returns the pages per warehouse in all tables before its table,
    /// the table, and the number of the row.
    #[inline]
    fn draw_row(&self, rng: &mut Xoshiro256PlusPlus) -> (u64, &RowLayout, u64) {
        const CUSTOMERS: u64 = OF_STOCK + OF_CUSTOMERS;
        const CUSTOMERS_EVENLY: u64 = CUSTOMERS + OF_CUSTOMERS_EVENLY;
        let (stock, customer) = (&self.stock, &self.customer);
        match rng.random_range(0..TOUCHED) {
            0..OF_STOCK => (0, stock, self.item.draw(rng)),
            OF_STOCK..CUSTOMERS => {
                let district = rng.random_range(0..DISTRICTS);
                (stock.pages, customer, district * DISTRICT + self.of_district.draw(rng))
            }
            CUSTOMERS..CUSTOMERS_EVENLY => {
                (stock.pages, customer, rng.random_range(0..CUSTOMER.rows))
            }
            _ => {
                let row = rng.random_range(0..ORDER_LINE.rows);
                (stock.pages + customer.pages, &self.order_line, row)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use flashscope_block::Op;

    use super::super::Target;
    use super::super::tests::{LARGE, assert_law, ios_on};
    use super::*;

    /// Two warehouses of 8334 pages, and a few additional pages.
    const TWO: Target = Target { capacity: Bytes::kib(8 * 2 * 8334 + 40), ..LARGE };

    // Each table and warehouse has its share of IOs, with two reads per write.
    #[test]
    fn each_table_and_warehouse_has_its_share() {
        let ios = ios_on(&TWO, "tpcc", 300_000);
        let (stock, customer) = (2 * 3847, 2 * 2500);
        let (mut tables, mut warehouses, mut ops) = ([0.0; 3], [0.0; 2], [0.0; 2]);
        for io in &ios {
            assert_eq!((io.len, io.offset.0 % 8192), (Bytes::kib(8), 0));
            let page = io.offset.0 / 8192;
            let (table, page, half) = match page {
                _ if page < stock => (0, page, stock / 2),
                _ if page < stock + customer => (1, page - stock, customer / 2),
                _ => (2, page - stock - customer, 1987),
            };
            assert!(page < 2 * half, "{io:?}");
            tables[table] += 1.0;
            warehouses[usize::from(page >= half)] += 1.0;
            ops[usize::from(io.op == Op::Write)] += 1.0;
        }
        assert_law(&tables, |i| [450.0, 132.0, 44.0][i] / 626.0);
        assert_law(&warehouses, |_| 0.5);
        assert_law(&ops, |i| [2.0 / 3.0, 1.0 / 3.0][i]);
    }

    // Customers follow the distribution of the clause, as counted over all pairs of its two random
    // numbers.
    #[test]
    fn non_uniform_numbers() {
        const CLASS: u64 = 60;
        let law = NuRand { a: 1023, c: 259, count: 3000 };
        let class = |row: u64| usize::try_from(row / CLASS).unwrap();
        let mut expected = vec![0.0; 50];
        for first in 0..=1023 {
            for second in 1..=3000u64 {
                expected[class(((first | second) + 259) % 3000)] += 1.0 / 1024.0 / 3000.0;
            }
        }
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut found = vec![0.0; 50];
        (0..1_000_000).for_each(|_| found[class(law.draw(&mut rng))] += 1.0);
        assert_law(&found, |i| expected[i]);
        assert!(expected.iter().copied().fold(0.0, f64::max) > 0.03, "the law is uniform");
    }

    // With a number of warehouses, the workload uses only their pages. A smaller page holds fewer
    // rows.
    #[test]
    fn a_number_of_warehouses_limits_the_pages() {
        let end =
            |spec: &str| ios_on(&TWO, spec, 100_000).iter().map(|io| io.end().0).max().unwrap();
        assert!((8333 * 8192..=8334 * 8192).contains(&end("tpcc?warehouses=1")));
        // A page of 4 KiB holds 13 rows of stock, 6 customers or 75 order lines.
        let pages = 7693 + 5000 + 4000;
        assert!(
            (pages * 4096 - 65_536..=pages * 4096).contains(&end("tpcc?warehouses=1&size=4KiB"))
        );
    }
}
