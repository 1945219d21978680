package gitops

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/fleetc/fleetc/testdata/clusters"
)

// argoModule is the module of Argo CD. It has one program, which acts by its name.
const (
	argoModule = "github.com/argoproj/argo-cd/v3"
	argoBuilt  = "cmd" // name that the go command gives the program
)

// Programs of Argo CD that run; the API server, Dex and notifications do not.
const (
	argoRepoServer = "argocd-repo-server"
	argoController = "argocd-application-controller"
	argoSets       = "argocd-applicationset-controller"
)

// argoVerify is the script that the repo server calls for every commit. Images of Argo CD
// have it in their PATH.
const argoVerify = "git-verify-wrapper.sh"

// argoRedis is the program of Argo CD's cache, which the machine must have.
const argoRedis = "redis-server"

var argoRecipe = clusters.Recipe{
	Name: "argocd", Parts: []string{crds, argoBuilt, argoRepoServer, argoController, argoSets, argoVerify}, Finish: finishArgo,
}

// BuildArgoCD returns the directory with Argo CD's programs and CRDs, and builds it if
// necessary; see [clusters.Recipe.Build].
func BuildArgoCD(ctx context.Context, log io.Writer) (dir string, err error) {
	if _, err := redis(); err != nil {
		return "", err
	}
	built, err := argoRecipe.Build(ctx, log)
	if err != nil {
		return "", err
	}
	return built.Dir, nil
}

// redis returns the path of Redis.
func redis() (string, error) {
	path, err := exec.LookPath(argoRedis)
	if err != nil {
		return "", fmt.Errorf("find Redis for Argo CD: %w\nOn Debian: apt-get install redis-server", err)
	}
	return path, nil
}

// finishArgo gives the program its names, and copies the script and the CRDs from its
// module.
func finishArgo(dir string, module func(string) (string, error)) error {
	for _, name := range []string{argoRepoServer, argoController, argoSets} {
		if err := os.Symlink(argoBuilt, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	from, err := module(argoModule)
	if err != nil {
		return err
	}
	script, err := os.ReadFile(filepath.Join(from, "hack", argoVerify))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, argoVerify), script, 0o755); err != nil {
		return err
	}
	return copyFiles(filepath.Join(from, "manifests", "crds"), "*-crd.yaml", filepath.Join(dir, crds))
}

// copyFiles copies the files with CRDs that match a pattern to a new directory.
func copyFiles(from, pattern, to string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(from, pattern))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("no CRDs in %s", from)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, filepath.Base(file)), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// ArgoNamespace is the usual namespace of Argo CD.
const ArgoNamespace = "argocd"

// argoUser is the user of Argo CD in the audit logs.
const argoUser = "argocd"

// ArgoCD is a running Argo CD.
type ArgoCD struct {
	Cluster *clusters.Cluster // cluster with its Applications
}

// argoObjects are the objects of an installation that Argo CD does not create itself.
const argoObjects = `apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-cm, namespace: argocd, labels: {app.kubernetes.io/part-of: argocd}}
---
apiVersion: v1
kind: Secret
metadata: {name: argocd-secret, namespace: argocd, labels: {app.kubernetes.io/part-of: argocd}}
stringData: {server.secretkey: unused}
---
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: default, namespace: argocd}
spec: {sourceRepos: ["*"], destinations: [{server: "*", namespace: "*"}], clusterResourceWhitelist: [{group: "*", kind: "*"}]}
`

// StartArgoCD builds Argo CD if necessary and starts it for a cluster of the fleet, with
// which it ends. It manages the given clusters, by their names in Argo CD.
func StartArgoCD(ctx context.Context, log io.Writer, fleet *clusters.Fleet, c *clusters.Cluster, manages map[string]*clusters.Cluster) (*ArgoCD, error) {
	dir, err := BuildArgoCD(ctx, log)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	objects := argoObjects
	for name, managed := range manages {
		secret, err := clusterSecret(name, managed)
		if err != nil {
			return nil, err
		}
		objects += "---\n" + secret + "\n"
	}
	if err := install(ctx, fleet, c, ArgoNamespace, filepath.Join(dir, crds)); err != nil {
		return nil, err
	}
	if _, err := fleet.KubectlInput(ctx, objects, "--context", c.Context, "apply", "--server-side", "-f", "-"); err != nil {
		return nil, err
	}
	if err := startArgo(ctx, dir, fleet, c); err != nil {
		return nil, err
	}
	return &ArgoCD{Cluster: c}, nil
}

// install creates a namespace, and the CRDs of a directory, which are served when it
// returns.
func install(ctx context.Context, fleet *clusters.Fleet, c *clusters.Cluster, namespace, dir string) error {
	kubectl := func(args ...string) error {
		_, err := fleet.Kubectl(ctx, append([]string{"--context", c.Context}, args...)...)
		return err
	}
	if err := kubectl("create", "namespace", namespace); err != nil {
		return err
	}
	if err := kubectl("apply", "--server-side", "-f", dir); err != nil {
		return err
	}
	// kubectl wait fails for a CRD that has no conditions yet.
	return clusters.Poll(ctx, "the CRDs of "+c.Name+" are served", c.Err, func(context.Context) error {
		return kubectl("wait", "--for=condition=Established", "--timeout=30s", "-f", dir)
	})
}

// clusterSecret returns the Secret that makes a cluster known to Argo CD, which acts as
// an administrator.
func clusterSecret(name string, c *clusters.Cluster) (string, error) {
	file, err := c.User(argoUser, "system:masters")
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	var login struct {
		Clusters []struct {
			Cluster struct {
				CA string `json:"certificate-authority-data"`
			}
		}
		Users []struct {
			User struct {
				Cert string `json:"client-certificate-data"`
				Key  string `json:"client-key-data"`
			}
		}
	}
	if err := json.Unmarshal(text, &login); err != nil {
		return "", err
	}
	config, err := json.Marshal(map[string]any{"tlsClientConfig": map[string]any{
		"caData": login.Clusters[0].Cluster.CA, "certData": login.Users[0].User.Cert, "keyData": login.Users[0].User.Key,
	}})
	if err != nil {
		return "", err
	}
	secret, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Secret",
		"metadata":   map[string]any{"name": "cluster-" + name, "namespace": ArgoNamespace, "labels": map[string]any{"argocd.argoproj.io/secret-type": "cluster"}},
		"stringData": map[string]any{"name": name, "server": c.Server, "config": string(config)},
	})
	return string(secret), err
}

// startArgo starts the programs of Argo CD as an administrator of the cluster.
func startArgo(ctx context.Context, dir string, fleet *clusters.Fleet, c *clusters.Cluster) error {
	kubeconfig, err := c.User(argoUser, "system:masters")
	if err != nil {
		return err
	}
	cache, err := redis()
	if err != nil {
		return err
	}
	var ports [2]string
	for i := range ports {
		port, err := fleet.Port()
		if err != nil {
			return err
		}
		ports[i] = strconv.Itoa(port)
	}
	redisAddress, repoAddress := net.JoinHostPort("127.0.0.1", ports[0]), net.JoinHostPort("127.0.0.1", ports[1])
	env := []string{
		"KUBECONFIG=" + kubeconfig,
		"ARGOCD_FAKE_IN_CLUSTER=true", // the cluster of the kubeconfig is in-cluster
		"PATH=" + dir + string(filepath.ListSeparator) + os.Getenv("PATH"), "ARGOCD_GPG_ENABLED=false", "ARGOCD_ASK_PASS_SOCK=" + filepath.Join(c.Dir, "ask-pass.sock"),
	}
	for _, part := range []struct {
		program string
		flags   []string
	}{
		{cache, []string{"--port", ports[0], "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", c.Dir}},
		{filepath.Join(dir, argoRepoServer), []string{
			"--redis=" + redisAddress, "--address=127.0.0.1", "--port=" + ports[1], "--metrics-address=127.0.0.1", "--metrics-port=0",
			"--disable-tls", "--client-ca-path=",
		}},
		// Its metrics listen on all addresses, at a random port.
		{filepath.Join(dir, argoController), []string{
			"--namespace=" + ArgoNamespace, "--redis=" + redisAddress, "--repo-server=" + repoAddress, "--repo-server-plaintext", "--metrics-port=0",
		}},
		{filepath.Join(dir, argoSets), []string{
			"--namespace=" + ArgoNamespace, "--argocd-repo-server=" + repoAddress, "--repo-server-plaintext",
			"--metrics-addr=0", "--probe-addr=0", "--webhook-addr=127.0.0.1:0",
		}},
	} {
		if err := c.Run(part.program, part.flags, env); err != nil {
			return err
		}
	}
	return listening(ctx, c, redisAddress, repoAddress)
}

// listening waits until parts of the cluster accept connections.
func listening(ctx context.Context, c *clusters.Cluster, addresses ...string) error {
	for _, address := range addresses {
		if err := clusters.Poll(ctx, "a part of "+c.Name+" listens on "+address, c.Err, func(ctx context.Context) error {
			conn, err := (&net.Dialer{}).DialContext(ctx, "tcp4", address)
			if err != nil {
				return err
			}
			return conn.Close()
		}); err != nil {
			return err
		}
	}
	return nil
}
