"""Which adapter stands behind which port in this process. The only module that knows them."""
