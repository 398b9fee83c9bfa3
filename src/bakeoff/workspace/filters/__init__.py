"""Git attributes and content filters: what stands between files as a checkout has them and blobs as git stores them."""
