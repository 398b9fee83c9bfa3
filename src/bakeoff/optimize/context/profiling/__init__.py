"""Line profile of a function."""
