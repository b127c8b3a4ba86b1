# A server of the S3 protocol that checks signatures and rights (moto), with a bucket "fleet". Its
# first line says, as JSON, where it is and which keys there are; then each line of standard input
# is a command, answered by a line: "away", "back" (the socket closes, what was put stays), "copy
# DIR" (the bucket's objects as files), "clear", "versions" (how many there ever were), "uploads"
# (how many are unfinished). It ends with its standard input.
import json, logging, os, sys

logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
os.environ["AWS_EC2_METADATA_DISABLED"] = "true"
try:
    import boto3
    from moto import settings
    from moto.server import ThreadedMotoServer
except ImportError as error:
    sys.exit(f"moto: {error}")


def serve(port):
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=port, verbose=False)
    server.start()
    return server, server.get_host_and_port()[1]


server, port = serve(0)
url = f"http://127.0.0.1:{port}"


def client(service, id, secret):
    return boto3.client(service, endpoint_url=url, aws_access_key_id=id, aws_secret_access_key=secret, region_name="us-east-1")


iam = client("iam", "x", "x")


def key(user):
    iam.create_user(UserName=user)
    made = iam.create_access_key(UserName=user)["AccessKey"]
    return {"id": made["AccessKeyId"], "secret": made["SecretAccessKey"]}


writer, stranger = key("writer"), key("stranger")
allowed = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}
iam.put_user_policy(UserName="writer", PolicyName="all", PolicyDocument=json.dumps(allowed))
bucket = client("s3", writer["id"], writer["secret"])
bucket.create_bucket(Bucket="fleet")
bucket.put_bucket_versioning(Bucket="fleet", VersioningConfiguration={"Status": "Enabled"})
# From here on each request is checked.
settings.INITIAL_NO_AUTH_ACTION_COUNT = 0
print(json.dumps({"url": url, "writer": writer, "stranger": stranger}), flush=True)


def objects(operation, field):
    pages = bucket.get_paginator(operation).paginate(Bucket="fleet")
    return [object for page in pages for object in page.get(field, [])]


def copy(dir):
    for object in objects("list_objects_v2", "Contents"):
        to = os.path.join(dir, object["Key"])
        os.makedirs(os.path.dirname(to), exist_ok=True)
        bucket.download_file("fleet", object["Key"], to)


for line in sys.stdin:
    command, _, argument = line.strip().partition(" ")
    if command == "away":
        inner = server._server
        server.stop()
        inner.server_close()
    elif command == "back":
        server, _ = serve(port)
    elif command == "copy":
        copy(argument)
    elif command == "clear":
        for object in objects("list_objects_v2", "Contents"):
            bucket.delete_object(Bucket="fleet", Key=object["Key"])
    elif command == "versions":
        print(len(objects("list_object_versions", "Versions")), flush=True)
        continue
    elif command == "uploads":
        print(len(objects("list_multipart_uploads", "Uploads")), flush=True)
        continue
    print("done", flush=True)
