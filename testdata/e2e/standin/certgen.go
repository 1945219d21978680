package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

// certgen creates a Secret with a certificate, or makes webhooks trust it.
func certgen(args []string) error {
	if len(args) == 0 {
		return errors.New("a command is missing")
	}
	flags := flag.NewFlagSet("certgen", flag.ExitOnError)
	hosts := flags.String("host", "", "names of the certificate")
	namespace := flags.String("namespace", "", "namespace of the Secret")
	secret := flags.String("secret-name", "", "name of the Secret")
	webhook := flags.String("webhook-name", "", "name of the webhook configurations")
	mutating := flags.Bool("patch-mutating", true, "change the MutatingWebhookConfiguration, too")
	policy := flags.String("patch-failure-policy", "", "failure policy of the webhooks")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	api, err := inCluster()
	if err != nil {
		return err
	}
	secrets := "/api/v1/namespaces/" + *namespace + "/secrets"
	switch args[0] {
	case "create":
		return api.createSecret(secrets, *secret, strings.Split(*hosts, ","))
	case "patch":
		kinds := []string{"validatingwebhookconfigurations"}
		if *mutating {
			kinds = append(kinds, "mutatingwebhookconfigurations")
		}
		return api.updateWebhooks(secrets+"/"+*secret, kinds, *webhook, *policy)
	}
	return fmt.Errorf("%s is not a command", args[0])
}

// An api sends requests to the API server of the pod.
type api struct {
	server, token string
	client        *http.Client
}

func inCluster() (*api, error) {
	const dir = "/var/run/secrets/kubernetes.io/serviceaccount/"
	token, err := os.ReadFile(dir + "token")
	if err != nil {
		return nil, err
	}
	ca, err := os.ReadFile(dir + "ca.crt")
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	return &api{
		server: "https://" + net.JoinHostPort(os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")),
		token:  string(token), client: &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}},
	}, nil
}

// do sends a request and returns the status. It decodes the answer if the status is OK.
func (a *api) do(method, path string, body, into any) (int, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return 0, err
	}
	r, err := http.NewRequest(method, a.server+path, bytes.NewReader(text))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Authorization", "Bearer "+a.token)
	r.Header.Set("Content-Type", "application/json")
	resp, err := a.client.Do(r)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode >= 300 && resp.StatusCode != http.StatusConflict {
		err = fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, answer)
	}
	if err == nil && into != nil {
		err = json.Unmarshal(answer, into)
	}
	return resp.StatusCode, err
}

// createSecret creates the Secret unless it exists.
func (a *api) createSecret(path, name string, hosts []string) error {
	p, err := newPair(hosts)
	if err != nil {
		return err
	}
	_, err = a.do(http.MethodPost, path, map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": name},
		"data": map[string]any{"ca": p.cert, "cert": p.cert, "key": p.key},
	}, nil)
	return err
}

// updateWebhooks writes the certificate of the Secret to the configurations.
func (a *api) updateWebhooks(secret string, kinds []string, name, policy string) error {
	var s struct{ Data struct{ CA []byte } }
	if _, err := a.do(http.MethodGet, secret, nil, &s); err != nil {
		return err
	}
	for _, kind := range kinds {
		path := "/apis/admissionregistration.k8s.io/v1/" + kind + "/" + name
		var config map[string]any
		if _, err := a.do(http.MethodGet, path, nil, &config); err != nil {
			return err
		}
		hooks, _ := config["webhooks"].([]any)
		for _, h := range hooks {
			hook := h.(map[string]any)
			hook["clientConfig"].(map[string]any)["caBundle"] = s.Data.CA
			if policy != "" {
				hook["failurePolicy"] = policy
			}
		}
		if _, err := a.do(http.MethodPut, path, config, nil); err != nil {
			return err
		}
	}
	return nil
}

// A pair is a certificate that is its own authority, and its key; both are PEM.
type pair struct{ cert, key []byte }

func newPair(hosts []string) (*pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: hosts[0]}, DNSNames: hosts,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0),
		IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return &pair{
		cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}),
		key:  pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private}),
	}, nil
}
