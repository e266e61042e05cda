-- Health of a CustomResourceDefinition for Argo CD, which knows the conditions of Espalier.
-- It replaces Argo CD's own check, so it has that one's rules first.
if obj.metadata.deletionTimestamp ~= nil then
  return {status = "Progressing", message = "The definition is being deleted"}
end
if obj.status == nil or obj.status.conditions == nil or #obj.status.conditions == 0 then
  return {status = "Progressing", message = "The definition has no conditions yet"}
end
local found = {}
for _, condition in ipairs(obj.status.conditions) do
  found[condition.type] = condition
end
local function is(kind, status)
  return found[kind] ~= nil and found[kind].status == status
end

if is("Terminating", "True") then
  return {status = "Progressing", message = "The definition is being deleted"}
end
if is("NamesAccepted", "False") then
  return {status = "Degraded", message = found.NamesAccepted.message}
end
if not is("Established", "True") then
  return {status = "Degraded", message = "The definition is not established"}
end
if is("NonStructuralSchema", "True") then
  return {status = "Degraded", message = "The schemas are not structural"}
end

local labels = obj.metadata.labels or {}
local mode = labels["espalier.dev/mode"]
if mode == "enforce" then
  local current = found["espalier.dev/StoredObjectsCurrent"]
  if current == nil or current.observedGeneration ~= nil and current.observedGeneration < obj.metadata.generation then
    return {status = "Progressing", message = "Espalier has not looked at this generation yet"}
  end
  local waits = {Pending = true, Rewriting = true, ServersBehind = true, OtherMigration = true}
  local rests = {Observed = true, OutsideWindow = true, Partial = true}
  if current.status ~= "True" and waits[current.reason] then
    return {status = "Progressing", message = "Espalier: " .. current.reason}
  end
  if current.status ~= "True" and rests[current.reason] then
    return {status = "Suspended", message = "Espalier: " .. current.reason}
  end
  if current.status ~= "True" then
    return {status = "Degraded", message = "Espalier: " .. current.reason}
  end
end
if (mode == "enforce" or mode == "observe") and is("espalier.dev/StoredObjectsValid", "False") then
  return {status = "Degraded", message = "Espalier: stored objects violate the schema"}
end
return {status = "Healthy", message = "The definition is established"}
