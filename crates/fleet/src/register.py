# Makes tables of Iceberg of the files at a place, or brings them up to date; {"place", "catalog",
# "namespace", "tables"} on standard input, {table: {"files", "added", "removed", "metadata"}} on
# standard output. Files stay where they are, as they are. Exit status 3: pyiceberg is not here; 4:
# it refused.
import glob, json, os, sys


def path_of(uri):
    return uri.removeprefix("file://")


def register(work):
    import pyarrow.parquet as pq
    from pyiceberg.catalog.sql import SqlCatalog
    from pyiceberg.expressions import EqualTo
    from pyiceberg.partitioning import PartitionField, PartitionSpec
    from pyiceberg.transforms import IdentityTransform

    place, warehouse = work["place"], work["catalog"]
    os.makedirs(warehouse, mode=0o700, exist_ok=True)
    catalog = SqlCatalog("fathom", uri=f"sqlite:///{warehouse}/catalog.db", warehouse=f"file://{warehouse}")
    catalog.create_namespace_if_not_exists(work["namespace"])
    said = {}
    for name in work["tables"]:
        pattern = os.path.join(glob.escape(place), "day=*", "service=*", "host=*", f"[!.]*-{name}.parquet")
        there, empty = {}, None
        for file in sorted(glob.glob(pattern)):
            footer = pq.read_metadata(file)
            # A file without rows has no day: nothing of it is lost where it is left out.
            if footer.num_rows:
                there[file] = footer.schema.to_arrow_schema()
            else:
                empty = footer.schema.to_arrow_schema()
        identifier = f"{work['namespace']}.{name}"
        if catalog.table_exists(identifier):
            table = catalog.load_table(identifier)
        elif there or empty:
            # A table without rows is one, too: a query of it answers that there are none.
            table = catalog.create_table(identifier, next(reversed(there.values()), empty))
            with table.update_spec() as spec:
                spec.add_field("day", IdentityTransform(), "day")
        else:
            continue
        # Later fathoms have more columns.
        columns = {column for schema in there.values() for column in schema.names}
        if not columns <= set(table.schema().column_names):
            with table.update_schema() as schema:
                for of_file in {str(s): s for s in there.values()}.values():
                    schema.union_by_name(of_file)
        known = {path_of(f): f for f in table.inspect.data_files()["file_path"].to_pylist()}
        gone = [file for file in known if file not in there]
        # A day is removed as a directory. What is left of it is added again.
        days = {part[4:] for file in gone for part in file.split("/") if part.startswith("day=")}
        for day in sorted(days):
            table.delete(EqualTo("day", day))
        left = {file for file in known if file in there and not any(f"/day={day}/" in file for day in days)}
        new = [file for file in there if file not in left]
        if new:
            table.add_files([f"file://{file}" for file in new], check_duplicate_files=False)
        said[name] = {"files": len(there), "added": len(new), "removed": len(gone), "metadata": path_of(table.metadata_location)}
    return said


def main():
    work = json.load(sys.stdin)
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    try:
        said = register(work)
    except ImportError as error:
        print(error, file=sys.stderr)
        sys.exit(3)
    except Exception as error:
        print("\nfathom: " + f"{type(error).__name__}: {error}"[:4000], file=sys.stderr)
        sys.exit(4)
    json.dump(said, out)
    out.flush()


main()
