import { isObject } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import type { IsShown, UsageFeature } from '../carries.ts'
import type { Codec, UpstreamCodec } from '../codec.ts'
import type { Report, Usage } from '../ir.ts'
import { append } from './append.ts'
import { pointer } from './pointer.ts'
import { loss } from './report.ts'

/** How each field of a usage object is read. `told`: it follows from the others, or is told in another place. */
export interface UsageFields {
  /** A list holds the fields of its entries. */
  readonly [field: string]: UsageFeature | 'told' | UsageFields | readonly [UsageFields]
}

/** Pointers to what a usage object says beyond the fields that are shown. */
export function usageBeside(value: JsonObject, fields: UsageFields, isShown: IsShown, at = ''): string[] {
  const found: string[] = []
  for (const key in value) {
    const field = Object.hasOwn(fields, key) ? fields[key] : undefined
    const inner = value[key]
    if (field === 'told' || !counts(inner)) continue
    if (typeof field === 'string') {
      if (!isShown(field)) found.push(pointer(at, key))
    } else if (isEntries(field) && Array.isArray(inner)) {
      for (const [index, entry] of inner.entries())
        if (isObject(entry)) append(found, usageBeside(entry, field[0], isShown, pointer(pointer(at, key), index)))
    } else if (field !== undefined && !isEntries(field) && isObject(inner))
      append(found, usageBeside(inner, field, isShown, pointer(at, key)))
    else found.push(pointer(at, key))
  }
  return found
}

const isEntries = (field: UsageFields[string] | undefined): field is readonly [UsageFields] => Array.isArray(field)

/** Zeros count nothing, and neither do objects full of them. */
function counts(value: Json | undefined): boolean {
  if (typeof value === 'object' && value !== null) return Object.values(value).some(counts)
  return value !== undefined && value !== null && value !== 0 && value !== '' && value !== false
}

/**
 * Reports what the upstream's own usage says and the client's has no word for: bookkeeping, so notes. Once for an answer:
 * streams tell their usage many times.
 */
export function reportUsage(usage: Usage | undefined, upstream: UpstreamCodec, client: Codec, report: Report): void {
  if (usage?.raw === undefined || usage.raw.format === client.format) return
  const isShown: IsShown = (feature) => client.carries.answers[feature].client === 'kept'
  for (const path of upstream.usageBeside(usage.raw.value, isShown))
    report.add(loss(`/usage${path}`, 'counted by the upstream, and not told to the client', 'unsupported', 'note'))
}
