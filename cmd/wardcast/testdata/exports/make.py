"""Writes the Parquet files of TestExports: pip install pyarrow==26.0.1 fastparquet==2026.9.0 pandas, python make.py."""
import decimal, os

import fastparquet
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

here = os.path.dirname(os.path.abspath(__file__))
answers = np.array([[1, 2, 1, 2], [2, 2, 3, 2], [3, 4, 3, 3], [4, 5, 4, 4], [5, 4, 5, 5], [1, 1, 2, 1], [2, 3, 2, 3],
                    [5, 5, 4, 5], [4, 3, 4, 4], [3, 3, 3, 2], [2, 1, 1, 2], [4, 4, 5, 3]])
q1, q2, q3, q4 = answers.T
ids = [f"p{i + 1:02d}" for i in range(len(answers))]
days = pa.array(range(len(ids)), pa.timestamp("us", tz="UTC"))
# Each item in another type; a list, times and the index of pandas are beside them.
pq.write_table(pa.table({
    "id": pa.array(ids).dictionary_encode(),
    "q1": pa.array(q1.astype(np.float16)),
    "q2": pa.array([decimal.Decimal(int(v)) for v in q2], pa.decimal128(3, 1)),
    "q3": pa.array(q3, pa.uint8()),
    "q4": pa.array([str(v) for v in q4]).dictionary_encode(),
    "chosen": pa.array([[int(v), 1] for v in q1], pa.list_(pa.int64())),
    "seen": days,
    "__index_level_0__": pa.array(range(len(ids)), pa.int64()),
}), os.path.join(here, "types.parquet"))
pq.write_table(pa.table({"id": ids, "q1": q1 > 2, "q2": q2 > 2, "q3": q3}), os.path.join(here, "booleans.parquet"))
pq.write_table(pa.table({"id": ids, "q1": days, "q2": q2, "q3": q3}), os.path.join(here, "times.parquet"))
frame = pd.DataFrame({"id": ids, "q1": pd.array(q1, "Int8"), "q2": q2.astype(np.float32), "q3": q3.astype(np.uint16),
                      "q4": pd.Categorical([str(v) for v in q4])})
frame.loc[3, "q1"] = pd.NA
fastparquet.write(os.path.join(here, "fastparquet.parquet"), frame, compression="SNAPPY")
pq.write_table(pa.Table.from_pandas(pd.DataFrame(answers, columns=["q1", "q2", "q3", "q4"], index=range(5, 17))),
               os.path.join(here, "index.parquet"))
