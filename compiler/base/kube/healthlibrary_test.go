package kube_test

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cuelang.org/go/cue/load"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
	"github.com/fleetc/fleetc/compiler/stage/unify"
)

// evaluate evaluates a fleet of one cluster with these files in its layer.
func evaluate(t testing.TB, layer string) *fleet.Cluster {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "fleet") // need not exist
	overlay := map[string]load.Source{}
	add := func(name, text string) {
		overlay[filepath.Join(dir, filepath.FromSlash(name))] = load.FromString(text)
	}
	add("cue.mod/module.cue", `module: "example.com/infra"`+"\nlanguage: version: \"v0.17.0\"\n")
	for _, pkg := range []string{"schema", "lib/readiness"} {
		files, err := filepath.Glob(filepath.Join("../../..", pkg, "*.cue"))
		if err != nil || len(files) == 0 {
			t.Fatal("no files of", pkg, err)
		}
		for _, f := range files {
			data, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			add(path.Join("cue.mod/pkg/github.com/fleetc/fleetc", pkg, filepath.Base(f)), string(data))
		}
	}
	add("environments/c/fleet.cue", layer)
	in := load.Instances([]string{"./environments/c"}, &load.Config{Dir: dir, ModuleRoot: dir, Package: "fleet", Overlay: overlay})[0]
	if in.Err != nil {
		t.Fatal(in.Err)
	}
	c, err := unify.Cluster(dir, "c", []fleet.Layer{{Name: "root", Dir: "environments"}, {Name: "c", Dir: "environments/c"}}, in)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const libraryFleet = `package fleet

import "github.com/fleetc/fleetc/lib/readiness"

cluster: {name: "c", kubernetes: "1.36"}
releases: {}
health: readiness.#All
health: "Database.example.com": readiness.#Claim
health: "Quiet.example.com": readiness.#NotWaited
`

// TestLibrary tests the rules of lib/readiness with realistic statuses: each line
// has a kind, a status and the expected verdict.
func TestLibrary(t *testing.T) {
	c := evaluate(t, libraryFleet)
	rules, err := kube.CompileHealthRules(c)
	if err != nil {
		t.Fatal(err)
	}
	judged := map[string]map[kube.HealthState]bool{}
	for line := range strings.Lines(librarySamples) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		kind, rest, _ := strings.Cut(line, " ")
		want, fields, _ := strings.Cut(strings.TrimSpace(rest), " ")
		object := map[string]any{"status": map[string]any{}}
		if err := yaml.Unmarshal([]byte(fields), &object); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		short, group, _ := strings.Cut(kind, ".")
		object["apiVersion"], object["kind"] = group+"/v1", short
		object["metadata"] = map[string]any{"name": "x", "namespace": "y", "generation": int64(2)}
		got := rules.Judge(fleet.Object{Unstructured: &unstructured.Unstructured{Object: object}})
		if string(got.State) != strings.ReplaceAll(want, "-", " ") {
			t.Errorf("%s\n\tis %s: %s", line, got.State, got.Reason)
		}
		if judged[kind] == nil {
			judged[kind] = map[kube.HealthState]bool{}
		}
		judged[kind][got.State] = true
	}
	for _, h := range c.Health {
		needs := []kube.HealthState{kube.HealthReady}
		if len(h.Ready) > 0 {
			needs = append(needs, kube.HealthInProgress)
		}
		if len(h.Failed) > 0 {
			needs = append(needs, kube.HealthFailed)
		}
		for _, s := range needs {
			if !judged[h.Name][s] && !slices.Contains(sameRules, h.Name) {
				t.Errorf("no sample of %s is %s", h.Name, s)
			}
		}
	}
}

// sameRules are kinds that share the rule of a kind with samples.
var sameRules = []string{
	"Agent.agent.k8s.elastic.co", "ApmServer.apm.k8s.elastic.co", "Beat.beat.k8s.elastic.co", "ElasticMapsServer.maps.k8s.elastic.co",
	"EnterpriseSearch.enterprisesearch.k8s.elastic.co", "Logstash.logstash.k8s.elastic.co",
	"KafkaBridge.kafka.strimzi.io", "KafkaConnect.kafka.strimzi.io", "KafkaConnector.kafka.strimzi.io", "KafkaMirrorMaker2.kafka.strimzi.io",
	"KafkaUser.kafka.strimzi.io",
	"Bucket.source.toolkit.fluxcd.io", "HelmChart.source.toolkit.fluxcd.io", "OCIRepository.source.toolkit.fluxcd.io",
	"ImagePolicy.image.toolkit.fluxcd.io", "ImageRepository.image.toolkit.fluxcd.io", "ImageUpdateAutomation.image.toolkit.fluxcd.io",
	"Receiver.notification.toolkit.fluxcd.io",
	"GRPCRoute.gateway.networking.k8s.io", "TCPRoute.gateway.networking.k8s.io", "TLSRoute.gateway.networking.k8s.io", "UDPRoute.gateway.networking.k8s.io",
	"Issuer.cert-manager.io", "ClusterSecretStore.external-secrets.io", "ClusterExternalSecret.external-secrets.io", "PushSecret.external-secrets.io",
	"PrometheusAgent.monitoring.coreos.com", "ThanosRuler.monitoring.coreos.com",
	"Configuration.pkg.crossplane.io", "Function.pkg.crossplane.io", "ScaledJob.keda.sh",
	"Publication.postgresql.cnpg.io", "Subscription.postgresql.cnpg.io",
}

const librarySamples = `
# cert-manager writes the generation into each condition
Certificate.cert-manager.io in-progress {}
Certificate.cert-manager.io in-progress {status: {conditions: [{type: Issuing, status: "True", reason: DoesNotExist, observedGeneration: 2}, {type: Ready, status: "False", reason: DoesNotExist, message: Issuing certificate as Secret does not exist, observedGeneration: 2}]}}
Certificate.cert-manager.io in-progress {status: {notAfter: "2027-01-01T00:00:00Z", conditions: [{type: Ready, status: "True", reason: Ready, message: Certificate is up to date and has not expired, observedGeneration: 1}]}}
Certificate.cert-manager.io ready {status: {revision: 1, conditions: [{type: Ready, status: "True", reason: Ready, message: Certificate is up to date and has not expired, observedGeneration: 2}]}}
ClusterIssuer.cert-manager.io in-progress {status: {conditions: [{type: Ready, status: "False", reason: ErrRegisterACMEAccount, message: "Failed to register ACME account: dial tcp: timeout", observedGeneration: 2}]}}
ClusterIssuer.cert-manager.io ready {status: {acme: {uri: "https://acme.example.com/1"}, conditions: [{type: Ready, status: "True", reason: ACMEAccountRegistered, observedGeneration: 2}]}}
CertificateRequest.cert-manager.io in-progress {status: {conditions: [{type: Approved, status: "True", reason: cert-manager.io}, {type: Ready, status: "False", reason: Pending, message: Waiting on certificate issuance}]}}
CertificateRequest.cert-manager.io failed {status: {failureTime: "2026-11-20T10:00:00Z", conditions: [{type: Ready, status: "False", reason: Failed, message: the order is invalid}]}}
CertificateRequest.cert-manager.io failed {status: {conditions: [{type: Denied, status: "True"}, {type: Ready, status: "False", reason: Denied}]}}
CertificateRequest.cert-manager.io ready {status: {certificate: LS0t, conditions: [{type: Ready, status: "True", reason: Issued}]}}

Prometheus.monitoring.coreos.com in-progress {}
Prometheus.monitoring.coreos.com in-progress {status: {replicas: 2, updatedReplicas: 2, availableReplicas: 1, conditions: [{type: Available, status: Degraded, reason: SomePodsNotReady, observedGeneration: 2}, {type: Reconciled, status: "True", observedGeneration: 2}]}}
Prometheus.monitoring.coreos.com in-progress {status: {conditions: [{type: Available, status: "True", observedGeneration: 2}, {type: Reconciled, status: "False", reason: ReconciliationFailed, message: no such secret, observedGeneration: 2}]}}
Prometheus.monitoring.coreos.com ready {status: {replicas: 2, availableReplicas: 2, conditions: [{type: Available, status: "True", observedGeneration: 2}, {type: Reconciled, status: "True", observedGeneration: 2}]}}
Alertmanager.monitoring.coreos.com in-progress {status: {conditions: [{type: Available, status: "True", observedGeneration: 1}, {type: Reconciled, status: "True", observedGeneration: 1}]}}
Alertmanager.monitoring.coreos.com ready {status: {conditions: [{type: Available, status: "True", observedGeneration: 2}, {type: Reconciled, status: "True", observedGeneration: 2}]}}
ServiceMonitor.monitoring.coreos.com ready {}
PodMonitor.monitoring.coreos.com ready {}
Probe.monitoring.coreos.com ready {}
PrometheusRule.monitoring.coreos.com ready {}
ScrapeConfig.monitoring.coreos.com ready {}
AlertmanagerConfig.monitoring.coreos.com ready {}

Elasticsearch.elasticsearch.k8s.elastic.co in-progress {status: {observedGeneration: 2, phase: ApplyingChanges, health: unknown, inProgressOperations: {}}}
Elasticsearch.elasticsearch.k8s.elastic.co in-progress {status: {observedGeneration: 1, phase: Ready, health: green}}
Elasticsearch.elasticsearch.k8s.elastic.co in-progress {status: {observedGeneration: 2, phase: Ready, health: red, availableNodes: 1}}
Elasticsearch.elasticsearch.k8s.elastic.co ready {status: {observedGeneration: 2, phase: Ready, health: yellow, availableNodes: 1, version: 9.1.0}}
Elasticsearch.elasticsearch.k8s.elastic.co failed {status: {observedGeneration: 2, phase: Invalid, health: unknown}}
Kibana.kibana.k8s.elastic.co in-progress {status: {observedGeneration: 2, health: red, associationStatus: Pending}}
Kibana.kibana.k8s.elastic.co ready {status: {observedGeneration: 2, health: green, availableNodes: 1, count: 1}}

Kafka.kafka.strimzi.io in-progress {status: {observedGeneration: 2, conditions: [{type: NotReady, status: "True", reason: Creating, message: Kafka cluster is being deployed}]}}
Kafka.kafka.strimzi.io in-progress {status: {observedGeneration: 1, conditions: [{type: Ready, status: "True"}]}}
Kafka.kafka.strimzi.io failed {status: {observedGeneration: 2, conditions: [{type: NotReady, status: "True", reason: InvalidResourceException, message: no listeners}]}}
Kafka.kafka.strimzi.io ready {status: {observedGeneration: 2, kafkaVersion: 4.1.0, conditions: [{type: Warning, status: "True", reason: KafkaStorage}, {type: Ready, status: "True"}]}}
KafkaTopic.kafka.strimzi.io in-progress {status: {observedGeneration: 2, conditions: [{type: Ready, status: "False", reason: KafkaError}]}}
KafkaTopic.kafka.strimzi.io failed {status: {observedGeneration: 2, conditions: [{type: NotReady, status: "True", reason: InvalidConfigurationException}]}}
KafkaTopic.kafka.strimzi.io ready {status: {observedGeneration: 2, topicName: x, conditions: [{type: Ready, status: "True"}]}}
KafkaNodePool.kafka.strimzi.io ready {status: {observedGeneration: 2, nodeIds: [0, 1], roles: [broker]}}

# the observedGeneration of Argo Rollouts is a text
Rollout.argoproj.io in-progress {}
Rollout.argoproj.io in-progress {status: {observedGeneration: "1", phase: Healthy}}
Rollout.argoproj.io in-progress {status: {observedGeneration: "2", phase: Paused, message: CanaryPauseStep, pauseConditions: [{reason: CanaryPauseStep}]}}
Rollout.argoproj.io in-progress {status: {observedGeneration: "2", phase: Progressing, message: more replicas need to be updated}}
Rollout.argoproj.io failed {status: {observedGeneration: "2", phase: Degraded, message: "RolloutAborted: Rollout aborted update to revision 2"}}
Rollout.argoproj.io ready {status: {observedGeneration: "2", phase: Healthy, readyReplicas: 3}}
AnalysisTemplate.argoproj.io ready {}
ClusterAnalysisTemplate.argoproj.io ready {}

Application.argoproj.io in-progress {}
Application.argoproj.io in-progress {status: {sync: {status: OutOfSync}, health: {status: Healthy}}}
Application.argoproj.io in-progress {status: {sync: {status: Synced}, health: {status: Progressing}, operationState: {phase: Succeeded}}}
Application.argoproj.io failed {status: {sync: {status: OutOfSync}, health: {status: Missing}, operationState: {phase: Failed, message: one or more objects failed to apply}}}
Application.argoproj.io ready {status: {sync: {status: Synced, revision: abc}, health: {status: Healthy}, operationState: {phase: Succeeded}}}
ApplicationSet.argoproj.io in-progress {status: {conditions: [{type: ParametersGenerated, status: "True"}, {type: ResourcesUpToDate, status: "False", reason: ApplicationSetModified}, {type: ErrorOccurred, status: "False"}]}}
ApplicationSet.argoproj.io failed {status: {conditions: [{type: ErrorOccurred, status: "True", reason: ApplicationGenerationFromParamsError, message: bad generator}]}}
ApplicationSet.argoproj.io ready {status: {conditions: [{type: ErrorOccurred, status: "False"}, {type: ResourcesUpToDate, status: "True", reason: ApplicationSetUpToDate}]}}
AppProject.argoproj.io ready {}

ScaledObject.keda.sh in-progress {status: {conditions: [{type: Ready, status: "False", reason: ScaledObjectCheckFailed, message: ScaledObject doesn't have correct triggers specification}, {type: Active, status: Unknown}]}}
ScaledObject.keda.sh ready {status: {hpaName: keda-hpa-x, conditions: [{type: Ready, status: "True", reason: ScaledObjectReady}, {type: Active, status: "False", reason: ScalerNotActive}, {type: Fallback, status: "False"}]}}
TriggerAuthentication.keda.sh ready {}
ClusterTriggerAuthentication.keda.sh ready {}

ExternalSecret.external-secrets.io in-progress {status: {refreshTime: null, conditions: [{type: Ready, status: "False", reason: SecretSyncedError, message: could not get secret data from provider}]}}
ExternalSecret.external-secrets.io ready {status: {syncedResourceVersion: 2-abc, conditions: [{type: Ready, status: "True", reason: SecretSynced, message: secret synced}]}}
SecretStore.external-secrets.io in-progress {status: {conditions: [{type: Ready, status: "False", reason: InvalidProviderConfig}]}}
SecretStore.external-secrets.io ready {status: {capabilities: ReadWrite, conditions: [{type: Ready, status: "True", reason: Valid, message: store validated}]}}
SealedSecret.bitnami.com in-progress {}
SealedSecret.bitnami.com failed {status: {observedGeneration: 2, conditions: [{type: Synced, status: "False", message: no key could decrypt secret}]}}
SealedSecret.bitnami.com ready {status: {observedGeneration: 2, conditions: [{type: Synced, status: "True"}]}}

Kustomization.kustomize.toolkit.fluxcd.io in-progress {status: {observedGeneration: -1}}
Kustomization.kustomize.toolkit.fluxcd.io in-progress {status: {observedGeneration: 2, conditions: [{type: Reconciling, status: "True", reason: Progressing, observedGeneration: 2}, {type: Ready, status: Unknown, reason: Progressing, observedGeneration: 2}]}}
Kustomization.kustomize.toolkit.fluxcd.io failed {status: {observedGeneration: 2, conditions: [{type: Stalled, status: "True", reason: InvalidSpec, observedGeneration: 2}, {type: Ready, status: "False", reason: InvalidSpec, observedGeneration: 2}]}}
Kustomization.kustomize.toolkit.fluxcd.io ready {status: {observedGeneration: 2, lastAppliedRevision: "main@sha1:abc", conditions: [{type: Ready, status: "True", reason: ReconciliationSucceeded, observedGeneration: 2}]}}
Kustomization.kustomize.toolkit.fluxcd.io ready {spec: {suspend: true}, status: {observedGeneration: 1}}
HelmRelease.helm.toolkit.fluxcd.io in-progress {status: {observedGeneration: 2, conditions: [{type: Ready, status: "False", reason: InstallFailed, observedGeneration: 2}, {type: Released, status: "False", observedGeneration: 2}]}}
HelmRelease.helm.toolkit.fluxcd.io failed {status: {observedGeneration: 2, conditions: [{type: Stalled, status: "True", reason: RetriesExceeded, observedGeneration: 2}]}}
HelmRelease.helm.toolkit.fluxcd.io ready {status: {observedGeneration: 2, conditions: [{type: Ready, status: "True", reason: UpgradeSucceeded, observedGeneration: 2}]}}
GitRepository.source.toolkit.fluxcd.io in-progress {status: {observedGeneration: 2, conditions: [{type: Ready, status: "False", reason: GitOperationFailed, observedGeneration: 2}]}}
GitRepository.source.toolkit.fluxcd.io failed {status: {observedGeneration: 2, conditions: [{type: Stalled, status: "True", reason: URLInvalid, observedGeneration: 2}]}}
GitRepository.source.toolkit.fluxcd.io ready {status: {observedGeneration: 2, conditions: [{type: Ready, status: "True", reason: Succeeded, observedGeneration: 2}, {type: ArtifactInStorage, status: "True", observedGeneration: 2}]}}
HelmRepository.source.toolkit.fluxcd.io ready {spec: {type: oci}}
HelmRepository.source.toolkit.fluxcd.io in-progress {spec: {url: "https://charts.example.com"}}
HelmRepository.source.toolkit.fluxcd.io ready {spec: {url: "https://charts.example.com"}, status: {observedGeneration: 2, conditions: [{type: Ready, status: "True"}]}}
Alert.notification.toolkit.fluxcd.io ready {}
Provider.notification.toolkit.fluxcd.io ready {}

# the Gateway API begins with conditions that are Unknown, and has one set of them for each parent
GatewayClass.gateway.networking.k8s.io in-progress {status: {conditions: [{type: Accepted, status: Unknown, reason: Pending, message: Waiting for controller}]}}
GatewayClass.gateway.networking.k8s.io failed {status: {conditions: [{type: Accepted, status: "False", reason: InvalidParameters, observedGeneration: 2}]}}
GatewayClass.gateway.networking.k8s.io ready {status: {conditions: [{type: Accepted, status: "True", reason: Accepted, observedGeneration: 2}]}}
Gateway.gateway.networking.k8s.io in-progress {status: {conditions: [{type: Accepted, status: Unknown, reason: Pending}, {type: Programmed, status: Unknown, reason: Pending}]}}
Gateway.gateway.networking.k8s.io in-progress {status: {conditions: [{type: Accepted, status: "True", reason: Accepted, observedGeneration: 2}, {type: Programmed, status: "False", reason: AddressNotAssigned, observedGeneration: 2}]}}
Gateway.gateway.networking.k8s.io ready {status: {addresses: [{value: 192.0.2.1}], conditions: [{type: Accepted, status: "True", observedGeneration: 2}, {type: Programmed, status: "True", observedGeneration: 2}]}}
HTTPRoute.gateway.networking.k8s.io in-progress {}
HTTPRoute.gateway.networking.k8s.io in-progress {status: {parents: []}}
HTTPRoute.gateway.networking.k8s.io in-progress {status: {parents: [{parentRef: {name: a}, conditions: [{type: Accepted, status: "True", observedGeneration: 2}, {type: ResolvedRefs, status: "False", reason: BackendNotFound, observedGeneration: 2}]}]}}
HTTPRoute.gateway.networking.k8s.io in-progress {status: {parents: [{parentRef: {name: a}, conditions: [{type: Accepted, status: "True", observedGeneration: 1}, {type: ResolvedRefs, status: "True", observedGeneration: 1}]}]}}
HTTPRoute.gateway.networking.k8s.io ready {status: {parents: [{parentRef: {name: a}, conditions: [{type: Accepted, status: "True", observedGeneration: 2}, {type: ResolvedRefs, status: "True", observedGeneration: 2}]}, {parentRef: {name: b}, conditions: [{type: Accepted, status: "True"}, {type: ResolvedRefs, status: "True"}]}]}}
ReferenceGrant.gateway.networking.k8s.io ready {}

Database.example.com in-progress {status: {conditions: [{type: Synced, status: "True", reason: ReconcileSuccess}, {type: Ready, status: "False", reason: Creating}]}}
Database.example.com in-progress {status: {conditions: [{type: Synced, status: "False", reason: ReconcileError, message: cannot compose resources}, {type: Ready, status: "True"}]}}
Database.example.com ready {status: {conditions: [{type: Synced, status: "True", reason: ReconcileSuccess}, {type: Ready, status: "True", reason: Available}]}}
Provider.pkg.crossplane.io in-progress {status: {conditions: [{type: Installed, status: "True", reason: ActivePackageRevision}, {type: Healthy, status: Unknown, reason: UnknownPackageRevisionHealth}]}}
Provider.pkg.crossplane.io ready {status: {conditions: [{type: Installed, status: "True"}, {type: Healthy, status: "True", reason: HealthyPackageRevision}]}}
CompositeResourceDefinition.apiextensions.crossplane.io in-progress {}
CompositeResourceDefinition.apiextensions.crossplane.io ready {status: {conditions: [{type: Established, status: "True", reason: WatchingCompositeResource}, {type: Offered, status: "True", reason: WatchingCompositeResourceClaim}]}}

Cluster.postgresql.cnpg.io in-progress {status: {phase: Setting up primary, instances: 1, conditions: [{type: Ready, status: "False", reason: ClusterIsNotReady, message: Cluster Is Not Ready}]}}
Cluster.postgresql.cnpg.io failed {status: {phase: Cluster is unrecoverable and needs manual intervention, conditions: [{type: Ready, status: "False", reason: ClusterIsNotReady}]}}
Cluster.postgresql.cnpg.io ready {status: {phase: Cluster in healthy state, instances: 3, readyInstances: 3, conditions: [{type: Ready, status: "True", reason: ClusterIsReady}, {type: ContinuousArchiving, status: "True"}]}}
Backup.postgresql.cnpg.io in-progress {status: {phase: running, method: barmanObjectStore}}
Backup.postgresql.cnpg.io failed {status: {phase: failed, error: no WAL archive}}
Backup.postgresql.cnpg.io ready {status: {phase: completed}}
Pooler.postgresql.cnpg.io in-progress {spec: {instances: 2}, status: {instances: 1}}
Pooler.postgresql.cnpg.io ready {spec: {instances: 2}, status: {instances: 2}}
Database.postgresql.cnpg.io in-progress {status: {applied: false, message: role does not exist, observedGeneration: 2}}
Database.postgresql.cnpg.io ready {status: {applied: true, observedGeneration: 2}}
ScheduledBackup.postgresql.cnpg.io ready {}
ImageCatalog.postgresql.cnpg.io ready {}
ClusterImageCatalog.postgresql.cnpg.io ready {}

VolumeSnapshot.snapshot.storage.k8s.io in-progress {status: {readyToUse: false, error: {message: no such volume}}}
VolumeSnapshot.snapshot.storage.k8s.io ready {status: {readyToUse: true, boundVolumeSnapshotContentName: c}}
VolumeSnapshotClass.snapshot.storage.k8s.io ready {}
Quiet.example.com ready {}

DestinationRule.networking.istio.io ready {}
EnvoyFilter.networking.istio.io ready {}
Gateway.networking.istio.io ready {}
ServiceEntry.networking.istio.io ready {}
Sidecar.networking.istio.io ready {}
VirtualService.networking.istio.io ready {}
WorkloadEntry.networking.istio.io ready {}
AuthorizationPolicy.security.istio.io ready {}
PeerAuthentication.security.istio.io ready {}
RequestAuthentication.security.istio.io ready {}
Telemetry.telemetry.istio.io ready {}
`

// BenchmarkLibrary evaluates a cluster with the rules of the library, and compiles
// their expressions.
func BenchmarkLibrary(b *testing.B) {
	for b.Loop() {
		if err := kube.CheckHealthRules(evaluate(b, libraryFleet)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNoRules(b *testing.B) {
	for b.Loop() {
		if err := kube.CheckHealthRules(evaluate(b, "package fleet\ncluster: {name: \"c\", kubernetes: \"1.36\"}\nreleases: {}\n")); err != nil {
			b.Fatal(err)
		}
	}
}
