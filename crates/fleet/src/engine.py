# Runs one question in an engine that this Python has; {"engine", "prelude", "sql"} on standard input, the answer on standard output.
import json, sys

work = json.load(sys.stdin)
out, sys.stdout = sys.stdout, sys.stderr
try:
    if work["engine"] == "duckdb":
        import duckdb
    else:
        import chdb.session
except ImportError:
    sys.exit(3)
try:
    if work["engine"] == "duckdb":
        engine = duckdb.connect()
        for statement in work["prelude"]:
            engine.execute(statement)
        cursor = engine.execute(work["sql"])
        columns = [column[0] for column in cursor.description]
        rows = [list(row) for row in cursor.fetchall()]
    else:
        engine = chdb.session.Session()
        for statement in work["prelude"]:
            engine.query(statement)
        answer = json.loads(engine.query(work["sql"], "JSONCompact").bytes() or b'{"meta": [], "data": []}')
        columns = [column["name"] for column in answer["meta"]]
        rows = answer["data"]
except Exception as error:
    print(str(error)[:4000], file=sys.stderr)
    sys.exit(4)
plain = lambda v: v if v is None or isinstance(v, (bool, int, float, str)) else str(v)
json.dump({"columns": columns, "rows": [[plain(v) for v in row] for row in rows]}, out)
