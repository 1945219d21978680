// Constructors and mixins for the common kinds of Kubernetes.
//
//   local k = import 'fleetc.libsonnet';
//
//   function(params, cluster) {
//     local web = k.container('web', params.image) + k.withPort(8080) + k.withProbes(k.httpProbe('/', 8080)),
//     deployment: k.deployment('web', [web]) + k.withReplicas(params.replicas),
//     service: k.serviceFor(self.deployment),
//   }
//
// A constructor is named for what it returns. A mixin begins with "with" and is
// added to an object by +. Neither sets a namespace: the release does. All that
// is not covered is added by +: as in any Jsonnet.
{
  local k = self,

  // An object without its null fields.
  local some(object) = { [f]: object[f] for f in std.objectFields(object) if object[f] != null },
  // The labels by which a workload finds its pods.
  local labelsOf(name) = { 'app.kubernetes.io/name': name },
  local labelSelector(labels) = if labels == {} then {} else { matchLabels: labels },
  local podTemplate(name, containers) = { metadata: { labels: labelsOf(name) }, spec: { containers: containers } },
  local workload(apiVersion, kind, name, containers) = k.object(apiVersion, kind, name) + k.withLabels(labelsOf(name)) + {
    spec: { selector: { matchLabels: labelsOf(name) }, template: podTemplate(name, containers) },
  },
  // The pod template of a workload of any kind, and a mixin for it.
  local templateOf(object) = if object.kind == 'CronJob' then object.spec.jobTemplate.spec.template else object.spec.template,
  local withTemplate(patch) = {
    local object = self,
    spec+: if object.kind == 'CronJob' then { jobTemplate+: { spec+: { template+: patch } } } else { template+: patch },
  },
  local withSpec(patch) = withTemplate({ spec+: patch }),
  local rbacRef(kind, name) = { apiGroup: 'rbac.authorization.k8s.io', kind: kind, name: name },

  // ---- Objects

  // An object of any kind.
  object(apiVersion, kind, name):: { apiVersion: apiVersion, kind: kind, metadata: { name: name } },
  // A namespace.
  namespace(name):: k.object('v1', 'Namespace', name),
  // A config map with files or settings by name.
  configMap(name, data={}):: k.object('v1', 'ConfigMap', name) + { data: data },
  // A claim of a volume: persistentVolumeClaim('data', '10Gi').
  persistentVolumeClaim(name, size, storageClass=null, accessModes=['ReadWriteOnce'])::
    k.object('v1', 'PersistentVolumeClaim', name) + {
      spec: some({ accessModes: accessModes, storageClassName: storageClass, resources: { requests: { storage: size } } }),
    },

  // ---- Workloads: containers are a list of container(...)

  // A deployment whose pods are labelled app.kubernetes.io/name: name, as those of all workloads.
  deployment(name, containers):: workload('apps/v1', 'Deployment', name, containers),
  // A stateful set, and the name of its headless service.
  statefulSet(name, containers, service=name):: workload('apps/v1', 'StatefulSet', name, containers) + { spec+: { serviceName: service } },
  // A daemon set.
  daemonSet(name, containers):: workload('apps/v1', 'DaemonSet', name, containers),
  // A job whose pods are not restarted.
  job(name, containers)::
    k.object('batch/v1', 'Job', name) + k.withLabels(labelsOf(name)) + { spec: { template: podTemplate(name, containers) } }
    + withSpec({ restartPolicy: 'Never' }),
  // A job by the clock, never two at once: cronJob('backup', '0 3 * * *', [...]).
  cronJob(name, schedule, containers):: k.object('batch/v1', 'CronJob', name) + k.withLabels(labelsOf(name)) + {
    spec: { schedule: schedule, concurrencyPolicy: 'Forbid', jobTemplate: { spec: { template: podTemplate(name, containers) } } },
  } + withSpec({ restartPolicy: 'Never' }),
  // The labels by which a workload finds its pods.
  selectorOf(workload):: templateOf(workload).metadata.labels,

  // How many pods a deployment or stateful set has.
  withReplicas(n):: { spec+: { replicas: n } },
  // The service account that pods run as.
  withServiceAccount(name):: withSpec({ serviceAccountName: name }),
  // A volume for the pods: withVolume(secretVolume('tls')).
  withVolume(volume):: withSpec({ volumes+: [volume] }),
  // A container that runs to its end before the others start.
  withInitContainer(container):: withSpec({ initContainers+: [container] }),
  // A mixin for all containers: withContainers(withResources({ cpu: '1' })).
  withContainers(mixin):: withSpec({ local own = super.containers, containers: [c + mixin for c in own] }),
  // A mixin for the container of a name.
  withContainer(name, mixin)::
    withSpec({ local own = super.containers, containers: [if c.name == name then c + mixin else c for c in own] }),
  // Labels that nodes must have to run the pods.
  withNodeSelector(labels):: withSpec({ nodeSelector+: labels }),
  // A taint that pods bear: withToleration({ key: 'dedicated', operator: 'Exists' }).
  withToleration(toleration):: withSpec({ tolerations+: [toleration] }),
  // Labels of the pods.
  withPodLabels(labels):: withTemplate({ metadata+: { labels+: labels } }),
  // Annotations of the pods.
  withPodAnnotations(annotations):: withTemplate({ metadata+: { annotations+: annotations } }),
  // New pods whenever a value changes: withRestartOn('config', self.configMap.data).
  withRestartOn(name, value):: k.withPodAnnotations({ ['checksum/' + name]: std.sha256(std.manifestJsonMinified(value)) }),

  // ---- Containers

  // A container.
  container(name, image):: { name: name, image: image },
  // The program that it runs.
  withCommand(command):: { command: command },
  // The arguments of the program.
  withArgs(args):: { args: args },
  // A port that it listens on; name it when there are several.
  withPort(port, name='http', protocol='TCP'):: { ports+: [{ name: name, containerPort: port, protocol: protocol }] },
  // Environment variables by name; numbers and booleans become text.
  withEnv(variables):: { env+: [{ name: n, value: std.toString(variables[n]) } for n in std.objectFields(variables)] },
  // A variable with the value of a secret's key. The secret comes from elsewhere.
  withSecretEnv(name, secret, key):: { env+: [{ name: name, valueFrom: { secretKeyRef: { name: secret, key: key } } }] },
  // A variable with a field of the pod: withFieldEnv('POD_IP', 'status.podIP').
  withFieldEnv(name, field):: { env+: [{ name: name, valueFrom: { fieldRef: { fieldPath: field } } }] },
  // All keys of a config map as variables.
  withConfigMapEnv(configMap):: { envFrom+: [{ configMapRef: { name: configMap } }] },
  // All keys of a secret as variables.
  withAllSecretEnv(secret):: { envFrom+: [{ secretRef: { name: secret } }] },
  // Resources that are set aside, and limits: withResources({ cpu: '100m', memory: '64Mi' }, { memory: '64Mi' }).
  withResources(requests, limits={}):: { resources+: { requests+: requests, limits+: limits } },
  // A volume in its file system.
  withMount(volume, path, readOnly=true, subPath=null)::
    { volumeMounts+: [some({ name: volume, mountPath: path, readOnly: readOnly, subPath: subPath })] },
  // What tells that it is ready, and what that it lives; null for none.
  withProbes(readiness, liveness=readiness):: some({ readinessProbe: readiness, livenessProbe: liveness }),
  // What tells that it has started, before the others are asked.
  withStartupProbe(probe):: { startupProbe: probe },
  // The least privileges: no root, no new ones, nothing written to its image.
  withHardening():: { securityContext+: {
    allowPrivilegeEscalation: false,
    capabilities: { drop: ['ALL'] },
    readOnlyRootFilesystem: true,
    runAsNonRoot: true,
    seccompProfile: { type: 'RuntimeDefault' },
  } },

  // A probe that asks for a path by HTTP.
  httpProbe(path, port, scheme='HTTP'):: { httpGet: { path: path, port: port, scheme: scheme } },
  // A probe that connects to a port.
  tcpProbe(port):: { tcpSocket: { port: port } },
  // A probe that runs a command.
  execProbe(command):: { exec: { command: command } },

  // ---- Volumes

  // A volume with the files of a config map.
  configMapVolume(name, configMap=name):: { name: name, configMap: { name: configMap } },
  // A volume with the files of a secret, which comes from elsewhere.
  secretVolume(name, secret=name):: { name: name, secret: { secretName: secret } },
  // A volume that lives as long as the pod.
  emptyDirVolume(name, sizeLimit=null):: { name: name, emptyDir: some({ sizeLimit: sizeLimit }) },
  // A volume by its claim.
  claimVolume(name, claim=name):: { name: name, persistentVolumeClaim: { claimName: claim } },
  // A directory of the node.
  hostPathVolume(name, path, type=null):: { name: name, hostPath: some({ path: path, type: type }) },

  // ---- Network

  // A service for the pods with these labels: service('web', { app: 'web' }, [servicePort(80, 8080)]).
  service(name, selector, ports):: k.object('v1', 'Service', name) + { spec: { selector: selector, ports: ports } },
  // A port of a service, and the port of the pods behind it.
  servicePort(port, targetPort=port, name='http', protocol='TCP')::
    { name: name, port: port, targetPort: targetPort, protocol: protocol },
  // The service of a workload, with all ports of its containers.
  serviceFor(workload):: k.service(workload.metadata.name, k.selectorOf(workload), [
    k.servicePort(p.containerPort, p.name, p.name, p.protocol)
    for c in templateOf(workload).spec.containers
    for p in std.get(c, 'ports', [])
  ]) + k.withLabels(labelsOf(workload.metadata.name)),
  // A service without an address of its own.
  withHeadless():: { spec+: { clusterIP: 'None' } },
  // An ingress: ingress('web', [ingressRule('example.com', 'web', 80)]).
  ingress(name, rules, className=null)::
    k.object('networking.k8s.io/v1', 'Ingress', name) + { spec: some({ ingressClassName: className, rules: rules }) },
  // A host and path of an ingress, and the service behind them.
  ingressRule(host, service, port, path='/'):: {
    host: host,
    http: { paths: [{ path: path, pathType: 'Prefix', backend: { service: { name: service, port: { number: port } } } }] },
  },
  // A certificate for hosts of an ingress.
  withTls(secret, hosts):: { spec+: { tls+: [{ secretName: secret, hosts: hosts }] } },
  // A policy that allows the pods with these labels nothing; {} for all pods.
  networkPolicy(name, selector={}):: k.object('networking.k8s.io/v1', 'NetworkPolicy', name) + {
    spec: { podSelector: labelSelector(selector), policyTypes: ['Ingress', 'Egress'] },
  },
  // Peers and ports that a policy lets in; [] for any.
  withIngressFrom(peers, ports=[]):: { spec+: { ingress+: [{ from: peers, ports: [{ port: p } for p in ports] }] } },
  // Peers and ports that a policy lets its pods reach; [] for any.
  withEgressTo(peers, ports=[]):: { spec+: { egress+: [{ to: peers, ports: [{ port: p } for p in ports] }] } },
  // The pods with these labels as a peer, in all namespaces when it says so.
  podPeer(labels, everywhere=false):: { podSelector: labelSelector(labels) } + if everywhere then { namespaceSelector: {} } else {},
  // All pods of a namespace as a peer.
  namespacePeer(name):: { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } } },

  // ---- Availability

  // How many pods of a workload may be away at once.
  disruptionBudgetFor(workload, maxUnavailable=1):: k.object('policy/v1', 'PodDisruptionBudget', workload.metadata.name) + {
    spec: { selector: { matchLabels: workload.spec.selector.matchLabels }, maxUnavailable: maxUnavailable },
  },
  // As many pods of a workload as its load asks for; cpu is a percentage of what is requested.
  autoscalerFor(workload, min, max, cpu=80):: k.object('autoscaling/v2', 'HorizontalPodAutoscaler', workload.metadata.name) + {
    spec: {
      scaleTargetRef: { apiVersion: workload.apiVersion, kind: workload.kind, name: workload.metadata.name },
      minReplicas: min,
      maxReplicas: max,
      metrics: [{ type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: cpu } } }],
    },
  },

  // ---- Access

  // A service account.
  serviceAccount(name):: k.object('v1', 'ServiceAccount', name),
  // What a role allows: rule([''], ['pods'], ['get', 'list']).
  rule(apiGroups, resources, verbs):: { apiGroups: apiGroups, resources: resources, verbs: verbs },
  // A role of one namespace.
  role(name, rules):: k.object('rbac.authorization.k8s.io/v1', 'Role', name) + { rules: rules },
  // A role of the whole cluster.
  clusterRole(name, rules):: k.object('rbac.authorization.k8s.io/v1', 'ClusterRole', name) + { rules: rules },
  // A service account as one who is bound.
  subject(serviceAccount, namespace):: { kind: 'ServiceAccount', name: serviceAccount, namespace: namespace },
  // Gives a role to subjects.
  roleBinding(name, role, subjects)::
    k.object('rbac.authorization.k8s.io/v1', 'RoleBinding', name) + { roleRef: rbacRef('Role', role), subjects: subjects },
  // Gives a cluster role to subjects, everywhere.
  clusterRoleBinding(name, role, subjects)::
    k.object('rbac.authorization.k8s.io/v1', 'ClusterRoleBinding', name) + { roleRef: rbacRef('ClusterRole', role), subjects: subjects },
  // A service account with a role of its own, all of one name: access('web', release.namespace, [rule(...)]).
  access(name, namespace, rules):: {
    serviceAccount: k.serviceAccount(name),
    role: k.role(name, rules),
    roleBinding: k.roleBinding(name, name, [k.subject(name, namespace)]),
  },
  // The same for the whole cluster.
  clusterAccess(name, namespace, rules):: {
    serviceAccount: k.serviceAccount(name),
    clusterRole: k.clusterRole(name, rules),
    clusterRoleBinding: k.clusterRoleBinding(name, name, [k.subject(name, namespace)]),
  },

  // ---- Any object

  // The namespace of an object that is not in the release's.
  withNamespace(name):: { metadata+: { namespace: name } },
  // Labels.
  withLabels(labels):: { metadata+: { labels+: labels } },
  // Annotations.
  withAnnotations(annotations):: { metadata+: { annotations+: annotations } },
  // A mixin for all objects in a result, or for those of some kinds: each(result, withLabels({ team: 'a' })).
  each(result, mixin, kinds=[])::
    if std.isArray(result) then [k.each(r, mixin, kinds) for r in result]
    else if !std.isObject(result) then result
    else if !(std.objectHas(result, 'apiVersion') && std.objectHas(result, 'kind'))
    then { [f]: k.each(result[f], mixin, kinds) for f in std.objectFields(result) }
    else if kinds == [] || std.member(kinds, result.kind) then result + mixin
    else result,

  // ---- Native functions

  // The objects of a chart by kind and name: helmTemplate('web', 'charts/web', { values: {} }).deployment_web.
  helmTemplate(name, chart, opts={}):: std.native('helmTemplate')(name, chart, opts),
  // The documents of a YAML text.
  parseYaml(text):: std.native('parseYaml')(text),
  // A value as YAML with its keys sorted.
  manifestYaml(value):: std.native('manifestYaml')(value),
}
