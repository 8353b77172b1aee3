import { type ReferenceKind, referenceKinds } from '../formats/references/places.ts'

/**
 * Accepted references of one kind. `'own'`: objects that the gateway knows as the caller's. `'pass'`: also unknown objects. A list: these
 * ids, in addition to the caller's own.
 */
export type ReferenceRule = 'own' | 'pass' | readonly string[]

/**
 * Rules for references to stored objects, by kind. Default of each: `'own'`.
 *
 * @example { files: 'pass', vectorStores: ['vs_public'] }
 */
export type ReferencesConfig = { readonly [K in ReferenceKind]?: ReferenceRule }

/** The rules of all kinds, with defaults. */
export type ReferencePolicy = Readonly<Record<ReferenceKind, ReferenceRule>>

/** Validates rules and adds defaults. Throws a TypeError that lists the valid kinds or values. */
export function resolveReferences(config: ReferencesConfig = {}): ReferencePolicy {
  if (typeof config !== 'object' || config === null || Array.isArray(config))
    throw new TypeError("references is not an object: write an object such as { files: 'pass' }")
  for (const [kind, rule] of Object.entries(config)) {
    if (!(referenceKinds as readonly string[]).includes(kind))
      throw new TypeError(`references.${kind} is unknown. Known kinds: ${referenceKinds.join(', ')}`)
    const isList = Array.isArray(rule) && rule.every((id) => typeof id === 'string' && id !== '')
    if (rule !== undefined && rule !== 'own' && rule !== 'pass' && !isList)
      throw new TypeError(`references.${kind} is ${JSON.stringify(rule)}: write 'own', 'pass', or a list of ids`)
  }
  return Object.fromEntries(referenceKinds.map((kind) => [kind, config[kind] ?? 'own'])) as ReferencePolicy
}

/** Returns true if a reference is accepted regardless of the object's owner. */
export const acceptsReference = (policy: ReferencePolicy, kind: ReferenceKind, id: string): boolean => {
  const accepted = policy[kind]
  return accepted === 'pass' || (accepted !== 'own' && accepted.includes(id))
}
