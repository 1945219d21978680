package compiler_test

import (
	"context"
	"fmt"
	"os"

	"github.com/fleetc/fleetc/compiler"
)

// A program that embeds the compiler loads a fleet, which reports all faults of its
// layers, charts and values, and then compiles cluster by cluster.
func Example() {
	cache, err := os.MkdirTemp("", "fleetc-example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(cache)
	c := compiler.Compiler{Dir: "..", Cache: cache, Offline: true}
	f, err := c.Load(context.Background(), "dev/ci")
	if err != nil {
		fmt.Println(err)
		return
	}
	for b, err := range f.Bundles(context.Background()) {
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Printf("the bundle of %s begins with\n", b.Cluster.ID)
		for i, o := range b.Objects[:3] {
			fmt.Printf("%s %s, %d bytes of YAML\n", o.GetKind(), o.GetName(), len(b.YAML[i].Bytes()))
		}
	}
	// Output:
	// the bundle of dev/ci begins with
	// PriorityClass batch, 254 bytes of YAML
	// PriorityClass platform, 268 bytes of YAML
	// Namespace cert-manager, 240 bytes of YAML
}
