"""The local stack: the real handlers, an embedded S3 and SQS, and a stand-in for API Gateway."""
