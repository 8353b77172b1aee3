import { isObject, type Json, type JsonObject } from '../../base/json/json.ts'
import type { Billed, Usage } from '../ir.ts'

/** Names of the tier whose prices are a model's usual ones. `auto` is what a client asks for, never what served a call. */
const usualTiers: ReadonlySet<Json | undefined> = new Set([
  '',
  'default',
  'standard',
  'auto',
  'on_demand',
  'standard_only',
])

/** Returns the tier that served a call, if its prices may differ from the usual ones. */
export const billedTier = (tier: Json | undefined): string | undefined =>
  typeof tier === 'string' && !usualTiers.has(tier) ? tier : undefined

/** Adds to a usage what the provider bills besides its counts. */
export function addBilled(usage: Usage, more: Billed): void {
  for (const name in more)
    if (more[name as keyof Billed] !== undefined) usage.billed = { ...usage.billed, [name]: more[name as keyof Billed] }
}

/** Returns the tier that a request asks for, if its prices may differ from the usual ones. */
export function requestedTier(body: JsonObject, fields: readonly string[] = []): string | undefined {
  for (const path of fields) {
    let value: Json | undefined = body
    for (const name of path.split('.')) value = isObject(value) ? value[name] : undefined
    const tier = billedTier(typeof value === 'string' ? value.toLowerCase() : undefined)
    if (tier !== undefined) return tier
  }
  return undefined
}
