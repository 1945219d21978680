package fleet

// A ChartPin is a chart in the form of schema.#Chart.
type ChartPin struct {
	Path         string            `json:"path"`
	Repo         string            `json:"repo"`
	Name         string            `json:"name"`
	Version      string            `json:"version"`
	Digest       string            `json:"digest"`
	Schemas      map[string]string `json:"schemas"`
	Dependencies map[string]string `json:"dependencies"`
	Git          GitRef            `json:"git"`
}

// Ref returns the chart that the pin refers to.
func (c ChartPin) Ref() ChartRef {
	if c.Git.URL != "" {
		c.Version = "" // the version only selects the commit
	}
	return ChartRef{
		Path: c.Path, Repo: c.Repo, Name: c.Name, Version: c.Version, Digest: c.Digest, Git: c.Git,
		Schemas: NewDigests(c.Schemas), Dependencies: NewDigests(c.Dependencies),
	}
}
