package fleet

// Request returns the chart and the version as fleetc chart add takes them. The version of a
// chart by path is empty.
func (r ChartRef) Request() (name, version string) {
	switch {
	case r.Path != "":
		return "./" + r.Path, ""
	case r.Git.URL == "":
		return r.Repo + "/" + r.Name, r.Version
	case r.Git.Path == "":
		return "git+" + r.Git.URL, r.Git.Ref
	}
	return "git+" + r.Git.URL + "//" + r.Git.Path, r.Git.Ref
}
