import { GatewayError } from '../../base/errors.ts'
import type { RequestBody } from '../../formats/request-body.ts'
import type { ObjectCall } from './object-call.ts'

const durationPattern = /^(\d{1,12}(?:\.\d{1,9})?)s$/

/**
 * Rejects a lifetime that is longer than the record of the object's owner: the owner could no longer use or delete the object, while the
 * provider bills it.
 */
export function checkLifetime(
  { dialect: { lifetime }, records, isShared, call }: ObjectCall,
  { members, value }: RequestBody,
): void {
  if (lifetime === undefined || isShared || !records.isEnabled) return
  const { duration, ends, defaultMs } = lifetime
  const names = members.map(({ key }) => key).filter((key) => key === duration || ends.includes(key))
  const given = names.filter((name) => value[name] !== null)
  const [name, other] = given.length > 0 ? given : []
  // Of two members, the upstream could read the one that was not checked.
  if (other !== undefined || new Set(names).size < names.length)
    throw invalid(other ?? names[0] ?? duration, `send only one of '${duration}' and '${ends[0]}', and send it once.`)
  const maxMs = records.objects.lifetimeMs
  const now = Date.now()
  const longest = `This gateway remembers the owner for ${Math.floor(maxMs / 1000)} seconds (objects.ttlMs)`
  if (name === undefined) {
    if (call.route.operation === 'update-object' || defaultMs <= maxMs) return
    throw invalid(
      duration,
      `${longest}, which is shorter than the provider's default of ${defaultMs / 1000} seconds. Send '${Math.floor(maxMs / 1000)}s' or less.`,
    )
  }
  if (name === duration) {
    const [, seconds] = durationPattern.exec(String(value[name])) ?? []
    if (seconds === undefined) throw invalid(name, "write a number of seconds, such as '3600s'.")
    if (Number(seconds) * 1000 <= maxMs) return
    throw invalid(name, `${longest}. Send '${Math.floor(maxMs / 1000)}s' or less.`)
  }
  const end = Date.parse(String(value[name]))
  if (Number.isNaN(end)) throw invalid(name, `write a time, such as '${new Date(now + defaultMs).toISOString()}'.`)
  if (end > now + maxMs)
    throw invalid(name, `${longest}. Send '${new Date(now + maxMs).toISOString()}' or an earlier time.`)
}

const invalid = (param: string, advice: string): GatewayError =>
  new GatewayError('invalid_request', `${param}: ${advice}`, { param })
