import { GatewayError } from '@modelgate/core'

/** Largest count: sums of such are exact. */
const mostCount = 1e15
const mostModels = 100
const longestName = 200

export const wrong = (message: string, param: string): GatewayError =>
  new GatewayError('invalid_request', message, { param })

/** One object, or a list of them, as a list. Throws a GatewayError `invalid_request` for anything else. */
export function listOf(value: unknown, field: string, example: string): readonly Record<string, unknown>[] {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value]
  if (list.length > 50) throw wrong(`'${field}' has ${list.length} entries: 50 at most are kept.`, field)
  for (const [at, one] of list.entries())
    if (typeof one !== 'object' || one === null || Array.isArray(one))
      throw wrong(
        `'${field}' is an object such as ${example}, or a list of them.`,
        Array.isArray(value) ? `${field}[${at}]` : field,
      )
  return list as readonly Record<string, unknown>[]
}

export function checkKeys(one: Record<string, unknown>, place: string, known: readonly string[]): void {
  for (const key of Object.keys(one))
    if (!known.includes(key))
      throw wrong(
        `'${place}.${key.slice(0, 100)}' is not known: ${known.join(', ')} are.`,
        `${place}.${key.slice(0, 100)}`,
      )
}

/** A whole number from `least`. Absent: undefined. */
export function countOf(one: Record<string, unknown>, key: string, place: string, least: number): number | undefined {
  const value = one[key]
  if (value === undefined) return undefined
  if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= mostCount) return value
  throw wrong(
    `'${place}.${key}' is ${shown(value)}: give a whole number from ${least}, such as 100.`,
    `${place}.${key}`,
  )
}

export function modelsOf(one: Record<string, unknown>, place: string): string | readonly string[] | undefined {
  const { models } = one
  if (models === undefined) return undefined
  const isName = (name: unknown): boolean => typeof name === 'string' && name !== '' && name.length <= longestName
  if (isName(models)) return models as string
  if (Array.isArray(models) && models.length > 0 && models.length <= mostModels && models.every(isName))
    return [...(models as string[])]
  throw wrong(
    `'${place}.models' is a model name such as "gpt-*", or a list of 1 to ${mostModels} of them.`,
    `${place}.models`,
  )
}

/** A value in a message: short, and never a structure. */
export const shown = (value: unknown): string =>
  typeof value === 'string' ? `'${value.slice(0, 50)}'` : typeof value === 'object' ? 'no number' : String(value)
