"""Beyond one machine's memory, one process and one program: tables on disk of any size, Dask, serving."""
