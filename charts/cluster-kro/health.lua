-- Health of what Argosy's definitions make, for Argo CD: resource.customizations.health.GROUP_KIND, of
-- provision.argosy.dev the kinds XEKSCluster and XEKSNodes (Crossplane), EKSCluster and EKSNodes (kro),
-- of resources.argosy.dev the kinds Queue, Table and Database.
-- Healthy means ready, and a cluster and its nodes are seen on the version that was asked for.
local status = obj.status or {}
local version = obj.spec.version
local message = "waits for the resource"
if version then
  message = "waits for version " .. version
end
for _, condition in ipairs(status.conditions or {}) do
  if condition.type == "Ready" then
    local seen = not version or status.version == version
    -- Crossplane calls a cluster ready before it asks for the role, whose policy needs the cluster.
    if obj.kind == "XEKSCluster" and not status.crossplaneRoleARN then
      seen, message = false, "waits for the role of its own Crossplane"
    end
    if condition.status == "True" and seen and (condition.observedGeneration or obj.metadata.generation) == obj.metadata.generation then
      return {status = "Healthy", message = version and "seen on version " .. version or ""}
    end
    message = condition.message or message
  elseif condition.type == "Synced" and condition.status == "False" then
    return {status = "Degraded", message = condition.message}
  end
end
if status.state == "ERROR" then
  return {status = "Degraded", message = message}
end
return {status = "Progressing", message = message}
