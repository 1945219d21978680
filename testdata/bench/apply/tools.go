package main

// A tool applies ConfigMaps to the cluster of KUBECONFIG, in a namespace with
// its name.
type tool struct {
	name     string
	files    func(configMaps string) map[string]string // input files, by path
	before   [][]string                                // commands before the first apply
	commands [][]string                                // commands of an apply
}

// tools returns fleetc and the tools for comparison.
func tools(fleetc, kubectl string) []tool {
	asIs := func(configMaps string) map[string]string { return map[string]string{"many.yaml": configMaps} }
	namespace := func(name string) [][]string { return [][]string{{kubectl, "create", "namespace", name}} }
	return []tool{
		{
			name: "fleetc",
			files: func(configMaps string) map[string]string {
				return map[string]string{"environments/many.cue": fleetFile, "environments/dev/one/cluster.cue": clusterFile, "environments/many.yaml": configMaps}
			},
			before:   append(namespace("fleetc"), []string{fleetc, "init", "example.com/bench"}),
			commands: [][]string{{fleetc, "apply", "--yes"}},
		},
		{
			name: "kubectl", files: asIs, before: namespace("kubectl"),
			commands: [][]string{{kubectl, "apply", "--server-side", "-f", "many.yaml"}},
		},
		{
			name: "helm",
			files: func(configMaps string) map[string]string {
				return map[string]string{"chart/Chart.yaml": "apiVersion: v2\nname: many\nversion: 1.0.0\n", "chart/templates/many.yaml": configMaps}
			},
			before:   namespace("helm"),
			commands: [][]string{{"helm", "upgrade", "--install", "many", "chart", "--namespace", "helm"}},
		},
		{
			name: "kapp", files: asIs, before: namespace("kapp"),
			commands: [][]string{{"kapp", "deploy", "--yes", "--app", "many", "--namespace", "kapp", "--file", "many.yaml"}},
		},
	}
}

const fleetFile = `package fleet

releases: many: {
	namespace: "fleetc"
	manifests: "environments/many.yaml"
}
`

const clusterFile = `package fleet

cluster: {name: "one", kubernetes: "1.37", context: "one"}
`
