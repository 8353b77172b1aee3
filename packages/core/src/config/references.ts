import { type ReferenceKind, referenceKinds } from '../formats/references/places.ts'

/** What is accepted of one kind of reference; see `ReferencesConfig`. */
export type ReferenceRule = 'own' | 'pass' | readonly string[]

/** Which references to stored state a request may make, by kind. Default of each: `'own'`. */
export type ReferencesConfig = { readonly [K in ReferenceKind]?: ReferenceRule }

export type ReferencePolicy = Readonly<Record<ReferenceKind, ReferenceRule>>

/** @throws TypeError for kinds and values that don't exist, with those that do */
export function resolveReferences(config: ReferencesConfig = {}): ReferencePolicy {
  if (typeof config !== 'object' || config === null || Array.isArray(config))
    throw new TypeError("references is not an object: write for example { files: 'pass' }")
  for (const [kind, rule] of Object.entries(config)) {
    if (!(referenceKinds as readonly string[]).includes(kind))
      throw new TypeError(`references.${kind} is unknown: the kinds are ${referenceKinds.join(', ')}`)
    const isList = Array.isArray(rule) && rule.every((id) => typeof id === 'string' && id !== '')
    if (rule !== undefined && rule !== 'own' && rule !== 'pass' && !isList)
      throw new TypeError(`references.${kind} is ${JSON.stringify(rule)}: write 'own', 'pass', or a list of ids`)
  }
  return Object.fromEntries(referenceKinds.map((kind) => [kind, config[kind] ?? 'own'])) as ReferencePolicy
}

/** Whether the configuration accepts a reference without looking at its owner. */
export const acceptsReference = (policy: ReferencePolicy, kind: ReferenceKind, id: string): boolean => {
  const accepted = policy[kind]
  return accepted === 'pass' || (accepted !== 'own' && accepted.includes(id))
}
