"""A server of the S3 protocol with one empty bucket; prints its port. Runs in an environment of its own
(``requirements/clients.txt``)."""

from __future__ import annotations

import sys

import boto3
from moto.server import ThreadedMotoServer

server = ThreadedMotoServer(ip_address="127.0.0.1", port=int(sys.argv[2]) if len(sys.argv) > 2 else 0, verbose=False)
server.start()
host, port = server.get_host_and_port()
boto3.client(
    "s3",
    endpoint_url=f"http://{host}:{port}",
    region_name="us-east-1",
    aws_access_key_id="key",
    aws_secret_access_key="secret",
).create_bucket(Bucket=sys.argv[1])
print(port, flush=True)
sys.stdin.read()
