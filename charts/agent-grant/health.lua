-- Health of an ownership grant for the Argo CD of a hub: resource.customizations.health.ConfigMap.
-- A member in a rollout is healthy when its service says so of what the hub has announced.
local annotations = obj.metadata.annotations or {}
local rings = annotations["argosy.dev/rings"] or ""
if rings == "" then
  return {status = "Healthy"}
end
local said = annotations["argosy.dev/rings-health"] or ""
if said == "Healthy " .. rings then
  return {status = "Healthy"}
end
if said == "Degraded " .. rings then
  return {status = "Degraded", message = "the member's engine reports degraded components at " .. rings}
end
return {status = "Progressing", message = "waits for the member to be healthy at " .. rings}
