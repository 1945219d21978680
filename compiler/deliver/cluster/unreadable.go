package cluster

// UnreadableError is the cause of a fault about a value that must be read from the cluster
// and cannot be. It concerns this cluster and not the fleet.
type UnreadableError struct{ Err error }

// Error implements error.
func (u *UnreadableError) Error() string { return u.Err.Error() }

// Unwrap returns the error of reading.
func (u *UnreadableError) Unwrap() error { return u.Err }
