# Runs one question in an engine that this Python has: {"engine", "place", "prelude", "steps",
# "sql"} on standard input, the answer on standard output. A step is a table that is kept until the
# answer: its name and SQL. Exit status 3: the engine's module is not here; 4: the engine refused;
# 5: Spark finds no Java.
import json, os, shutil, sys, urllib.parse


def duckdb(work):
    import duckdb

    engine = duckdb.connect()
    for statement in work["prelude"]:
        engine.execute(statement)
    for name, sql in work["steps"]:
        engine.execute(f"CREATE TEMP TABLE {name} AS {sql}")
    cursor = engine.execute(work["sql"])
    rows = cursor.fetchmany(work["most"]) if "most" in work else cursor.fetchall()
    return [column[0] for column in cursor.description], rows


def clickhouse(work):
    import chdb.session

    engine = chdb.session.Session()
    for statement in work["prelude"]:
        engine.query(statement)
    for name, sql in work["steps"]:
        engine.query(f"CREATE TEMPORARY TABLE {name} AS {sql}")
    answer = json.loads(engine.query(work["sql"], "JSONCompact").bytes() or b'{"meta": [], "data": []}')
    return [column["name"] for column in answer["meta"]], answer["data"]


def spark(work):
    from pyspark.sql import SparkSession

    home = os.environ.get("JAVA_HOME")
    if not shutil.which(os.path.join(home, "bin", "java") if home else "java"):
        sys.exit(5)
    master = os.environ.get("FATHOM_FLEET_SPARK", "local[*]")
    builder = SparkSession.builder.master(master).appName("fathom fleet")
    builder = builder.config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
    # A question's answer is small; 200 partitions of a shuffle, the default, are 200 tasks of
    # nothing.
    builder = builder.config("spark.sql.shuffle.partitions", os.environ.get("FATHOM_FLEET_SPARK_PARTITIONS", "8"))
    if master.startswith("local"):
        # Its processes talk to each other on this machine, whatever the machine's name resolves to.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        builder = builder.config("spark.driver.host", "127.0.0.1")
    engine = builder.getOrCreate()
    engine.sparkContext.setLogLevel("OFF")
    try:
        for statement in work["prelude"]:
            engine.sql(statement)
        # A table of CACHE TABLE is computed once, but stands in each later query with all that it
        # is made of: the plan of a dozen steps takes the optimiser minutes. What is checkpointed
        # has rows and no past.
        for name, sql in work["steps"]:
            engine.sql(sql).localCheckpoint().createTempView(name)
        answer = engine.sql(work["sql"])
        return answer.columns, answer.collect()
    finally:
        engine.stop()


def trino(work):
    import trino

    at = urllib.parse.urlsplit(work["place"])
    names = [urllib.parse.unquote(name) for name in at.path.split("/") if name]
    if at.scheme not in ("http", "https") or not at.hostname or len(names) != 2:
        raise ValueError("an address is http://USER@HOST:PORT/CATALOG/SCHEMA")
    user, password = urllib.parse.unquote(at.username or "fathom"), os.environ.get("FATHOM_FLEET_TRINO_PASSWORD")
    engine = trino.dbapi.connect(
        host=at.hostname, port=at.port or (443 if at.scheme == "https" else 8080), http_scheme=at.scheme, user=user,
        catalog=names[0], schema=names[1], auth=trino.auth.BasicAuthentication(user, password) if password else None,
    )
    cursor = engine.cursor()
    try:
        # It has no tables of a session.
        for name, sql in work["steps"]:
            cursor.execute(f"CREATE TABLE {name} AS {sql}")
            cursor.fetchall()
        cursor.execute(work["sql"])
        rows = cursor.fetchall()
        return [column[0] for column in cursor.description], rows
    finally:
        for name, _ in reversed(work["steps"]):
            try:
                engine.cursor().execute(f"DROP TABLE IF EXISTS {name}").fetchall()
            except Exception as error:
                print(f"{name} was not dropped: {error}", file=sys.stderr)


ENGINES = {"duckdb": duckdb, "clickhouse": clickhouse, "spark": spark, "trino": trino}


def plain(value):
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return float(value) if type(value).__name__ == "Decimal" else str(value)


def main():
    work = json.load(sys.stdin)
    # Engines write to standard output; some through the descriptor.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    try:
        columns, rows = ENGINES[work["engine"]](work)
    except ImportError as error:
        print(error, file=sys.stderr)
        sys.exit(3)
    except Exception as error:
        print("\nfathom: " + str(error)[:4000], file=sys.stderr)
        sys.exit(4)
    json.dump({"columns": list(columns), "rows": [[plain(value) for value in row] for row in rows]}, out)
    out.flush()


main()
