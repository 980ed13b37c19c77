"""Programs that run in the images of the test cluster; copied into them, never imported by the tests."""
