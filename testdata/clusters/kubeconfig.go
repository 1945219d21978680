package clusters

import (
	"encoding/json"
	"fmt"
	"os"
)

// kubeconfig is the necessary part of the format, in JSON, which is also YAML.
type kubeconfig struct {
	APIVersion string        `json:"apiVersion"`
	Kind       string        `json:"kind"`
	Clusters   []kubeCluster `json:"clusters"`
	Users      []kubeUser    `json:"users"`
	Contexts   []kubeContext `json:"contexts"`
	Current    string        `json:"current-context,omitempty"`
}

type kubeCluster struct {
	Name    string `json:"name"`
	Cluster struct {
		Server     string `json:"server"`
		ServerName string `json:"tls-server-name,omitempty"`
		CA         []byte `json:"certificate-authority-data"`
	} `json:"cluster"`
}

type kubeUser struct {
	Name string `json:"name"`
	User struct {
		Cert []byte `json:"client-certificate-data"`
		Key  []byte `json:"client-key-data"`
	} `json:"user"`
}

type kubeContext struct {
	Name    string `json:"name"`
	Context struct {
		Cluster string `json:"cluster"`
		User    string `json:"user"`
	} `json:"context"`
}

// add adds a user of a cluster and a context.
func (k *kubeconfig) add(c *Cluster, user string, cert pair) {
	cluster := kubeCluster{Name: c.Context}
	cluster.Cluster.Server, cluster.Cluster.CA = c.Server, c.ca.pem
	login := kubeUser{Name: c.Context + "-" + user}
	login.User.Cert, login.User.Key = cert.cert, cert.key
	context := kubeContext{Name: c.Context}
	context.Context.Cluster, context.Context.User = cluster.Name, login.Name
	k.Clusters, k.Users, k.Contexts = append(k.Clusters, cluster), append(k.Users, login), append(k.Contexts, context)
}

// write writes the file atomically.
func (k *kubeconfig) write(file string) error {
	k.APIVersion, k.Kind = "v1", "Config"
	text, err := json.MarshalIndent(k, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(file+".new", append(text, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

// writeKubeconfig writes the kubeconfig of the fleet.
func (f *Fleet) writeKubeconfig() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var k kubeconfig
	for _, c := range f.clusters {
		if c.Server != "" {
			k.add(c, "admin", c.admin)
		}
	}
	return k.write(f.Kubeconfig)
}

// User creates a user with a client certificate, and returns the path of a
// kubeconfig with the cluster as the current context. RBAC grants rights to the
// name and the groups.
func (c *Cluster) User(name string, groups ...string) (file string, err error) {
	cert, err := c.ca.client(name, groups...)
	if err != nil {
		return "", err
	}
	return c.login(name, cert)
}

func (c *Cluster) login(name string, cert pair) (file string, err error) {
	k := kubeconfig{Current: c.Context}
	k.add(c, name, cert)
	file = c.file(fmt.Sprintf("kubeconfig-%x", name))
	return file, k.write(file)
}
