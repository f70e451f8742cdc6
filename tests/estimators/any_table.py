"""Strategies for tables of every kind that a user may hold, and targets beside them."""

import datetime
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from hypothesis import strategies as st
from scipy import sparse

ROWS = 8
WORDS = st.sampled_from(
    ["", " ", "a", "b", "c", "5%", "1,000", "nan", "NA", "é\x00", "2020-01-01", "x" * 200, "1", "-0"]
)
CELLS = {
    "int": st.integers(-5, 5),
    "large": st.sampled_from([2**53 + 1, 2**63 - 1, -(2**63)]),
    "huge": st.sampled_from([1, 10**30, 10**400]),
    "float": st.floats(-1e3, 1e3),
    "any float": st.floats(),
    "extreme": st.sampled_from([1e308, -1e308, 5e-324, 1e154, 0.0]),
    "bool": st.booleans(),
    "text": WORDS,
    "decimal": st.sampled_from([Decimal(1), Decimal("2.5"), Decimal("NaN"), Decimal("sNaN"), Decimal("1e400")]),
    "fraction": st.sampled_from([Fraction(1, 3), Fraction(2)]),
    "complex": st.sampled_from([1 + 2j, 0j]),
    "numpy": st.sampled_from([np.float32(1.5), np.int8(3), np.bool_(True), np.longdouble(2), np.complex64(1j)]),
    "date": st.sampled_from([datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1), datetime.timedelta(1)]),
    "bytes": st.sampled_from([b"a", b"b"]),
    "nested": st.sampled_from([[1], (2, 3), {"a": 1}, {1}]),
    "none": st.none(),
}
TYPES = ["f2", "f4", "f8", "g", "c8", "i1", "i8", "u1", "u8", "?", "U", "S", "O", "M8[D]", "m8[s]"]
NAMES = [["a", "b", "c"], ["a", "a", "b"], [0, 1, 2], ["a", 1, "b"], [None, "a", "b"], ["x" * 100, "é", ""]]


@st.composite
def cells(draw, n=ROWS):
    """The cells of one column: of one kind, some missing or of another kind now and then."""
    kind = draw(st.sampled_from(["int", "float", "text", "bool", *CELLS]))
    pool = CELLS[kind]
    if draw(st.integers(0, 3)) == 0:
        pool = pool | st.none()
    if draw(st.integers(0, 9)) == 0:
        pool = pool | CELLS[draw(st.sampled_from(sorted(CELLS)))]
    return draw(st.lists(pool, min_size=n, max_size=n))


@st.composite
def grids(draw):
    """Columns of cells, usually of one length."""
    n = draw(st.sampled_from([ROWS] * 8 + [0, 1]))
    return [draw(cells(n)) for _ in range(draw(st.integers(0, 3)))]


def objects(column):
    """A column as an array of objects, whatever its cells are."""
    values = np.empty(len(column), dtype=object)
    for row, value in enumerate(column):
        values[row] = value
    return values


def as_array(draw, columns):
    """A numpy array of one type."""
    values = np.empty((len(columns[0]) if columns else ROWS, len(columns)), dtype=object)
    for j, column in enumerate(columns):
        values[:, j] = objects(column)
    return values.astype(draw(st.sampled_from(TYPES)))


def as_lists(draw, columns):
    return [list(row) for row in zip(*columns, strict=True)]


def as_dict(draw, columns):
    made = {
        name: objects(column) if draw(st.booleans()) else column for name, column in zip("abc", columns, strict=False)
    }
    if made and draw(st.integers(0, 9)) == 0:
        made["a"] = draw(st.sampled_from([5, "text", np.zeros((ROWS, 2)), [1.0]]))
    return made


def as_pandas(draw, columns):
    frame = pd.DataFrame({str(j): objects(column) for j, column in enumerate(columns)})
    for name in frame:
        kind = draw(st.sampled_from(["keep", "infer", "category", "float", "Int64", "string", "sparse", "Float64"]))
        if kind == "infer":
            frame[name] = frame[name].infer_objects()
        elif kind == "sparse":
            frame[name] = pd.arrays.SparseArray(
                frame[name].astype(float), fill_value=draw(st.sampled_from([0.0, np.nan, 1.0]))
            )
        elif kind != "keep":
            frame[name] = frame[name].astype(kind)
    if draw(st.integers(0, 3)) == 0:
        frame.columns = draw(st.sampled_from(NAMES))[: frame.shape[1]]
    if len(frame) and draw(st.integers(0, 3)) == 0:
        frame.index = draw(st.sampled_from([[0] * len(frame), list("abcdefgh")[: len(frame)]]))
    return frame


def as_polars(draw, columns):
    kinds = [
        None,
        pl.Float64,
        pl.Int128,
        pl.UInt64,
        pl.Categorical,
        pl.Decimal(20, 3),
        pl.Object,
        pl.Boolean,
        pl.String,
    ]
    made = {}
    for name, column in zip("abc", columns, strict=False):
        known = [None if isinstance(v, Decimal) and not v.is_finite() else v for v in column]  # polars panics at these
        made[name] = pl.Series(known, dtype=draw(st.sampled_from(kinds)), strict=False)
    frame = pl.DataFrame(made)
    return frame.lazy() if draw(st.integers(0, 19)) == 0 else frame


def as_arrow(draw, columns):
    kinds = [None, pa.float64(), pa.int64(), pa.float16(), pa.string(), pa.bool_(), pa.decimal128(20, 3), pa.binary()]
    made = {}
    for name, column in zip("abc", columns, strict=False):
        values = pa.array(column, type=draw(st.sampled_from(kinds)))
        made[name] = values.dictionary_encode() if draw(st.integers(0, 3)) == 0 else values
    return pa.table(made)


def as_sparse(draw, columns):
    dense = as_array(draw, [[0.0 if value is None else value for value in column] for column in columns])
    kinds = [sparse.csr_array, sparse.csc_matrix, sparse.coo_array, sparse.dok_array, sparse.lil_matrix]
    return draw(st.sampled_from(kinds))(dense)


def as_other(draw, columns):
    """What is no table."""
    others = [None, 3.5, "text", b"bytes", {1, 2}, [[1, 2], [3]], np.zeros(ROWS), np.zeros((2, ROWS, 3)), [[]] * ROWS]
    return draw(st.sampled_from(others))


KINDS = {
    "array": as_array,
    "lists": as_lists,
    "dict": as_dict,
    "pandas": as_pandas,
    "polars": as_polars,
    "arrow": as_arrow,
    "sparse": as_sparse,
    "other": as_other,
}


@st.composite
def tables(draw):
    """A table, or None where its own library refuses to make it."""
    make = KINDS[draw(st.sampled_from(sorted(KINDS)))]
    columns = draw(grids())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return make(draw, columns)
    except (ValueError, TypeError, RuntimeError, ArithmeticError, pa.ArrowException, pl.exceptions.PolarsError):
        return None


@st.composite
def targets(draw):
    """Mostly numbers or classes."""
    usual = [list(range(ROWS)), [0, 1] * (ROWS // 2), ["no", "yes"] * (ROWS // 2)]
    return draw(st.sampled_from(usual * 4) | cells())
