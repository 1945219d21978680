package load

import (
	"strings"
	"testing"
)

func TestLoadChain(t *testing.T) {
	dir := write(t, `
-- environments/fleet.cue --
package fleet
cluster?: name: string
-- environments/prod/us/west/cluster.cue --
package fleet
cluster: name: "west"
-- environments/prod/us/env.cue --
package fleet
x: 1
-- environments/prod/eu/cluster.cue --
package fleet
cluster: {
`)
	c, err := LoadChain(dir, "prod/us", nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i, l := range c.Layers {
		names = append(names, l.Name)
		if c.Prefixes[i] == nil || len(c.Prefixes[i].Files) != i+1 {
			t.Errorf("%s: the instance %v", l.Name, c.Prefixes[i])
		}
	}
	if got := strings.Join(names, " "); got != "root us west" || c.ID != "prod/us/west" || c.Prefixes[2] != c.Instance {
		t.Errorf("cluster %s with the layers %s", c.ID, got)
	}
	for pattern, want := range map[string]string{
		"prod":     "prod selects 2 clusters, and only one can be explained at a time",
		"prod/eu":  "environments/prod/eu/cluster.cue:",
		"prod/asi": "no cluster matches prod/asi",
	} {
		if _, err := LoadChain(dir, pattern, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", pattern, err)
		}
	}
}

// TestLoadChainWithoutRoot loads a fleet whose topmost layer has no files.
func TestLoadChainWithoutRoot(t *testing.T) {
	dir := write(t, `
-- environments/prod/env.cue --
package fleet
x: 1
-- environments/prod/eu/cluster.cue --
package fleet
cluster: name: "eu"
`)
	c, err := LoadChain(dir, "prod/eu", nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Prefixes) != 3 || c.Prefixes[0] != nil || c.Prefixes[1] == nil || c.Prefixes[2] == nil {
		t.Errorf("the instances %v", c.Prefixes)
	}
}
