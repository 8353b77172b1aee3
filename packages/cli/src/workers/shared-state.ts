import type { Cooldown, HealthState, ResponseStore } from '@modelgate/core'
import type { Channel, Functions } from './channel.ts'

/** Returns the functions of the primary process, which holds the stored responses of all workers. */
export const responseFunctions = (store: ResponseStore): Functions => ({
  'responses.get': (key: string) => store.get(key),
  'responses.set': (...args: Parameters<ResponseStore['set']>) => store.set(...args),
  'responses.delete': (...args: Parameters<ResponseStore['delete']>) => store.delete(...args),
})

/** Creates the response store of a worker. */
export const remoteResponses = ({ call }: Pick<Channel, 'call'>): ResponseStore => ({
  get: (key) => call('responses.get', key),
  set: (...args) => call('responses.set', ...args),
  delete: (...args) => call('responses.delete', ...args),
})

/** Bounds the memory: model names of `prefix*` routes come from clients. */
const maxCooldowns = 10_000

/** Cooldowns of targets and keys, of which each process has a copy. */
export interface SharedHealth {
  readonly state: HealthState
  /** Takes over a change of another process. */
  receive(id: string, cooldown: Cooldown | undefined): void
  /** All cooldowns that have not ended, for a process that starts. */
  entries(): readonly (readonly [id: string, cooldown: Cooldown])[]
}

/**
 * Creates a copy of the cooldowns.
 *
 * @param publish sends a change of this process to the others
 */
export function createSharedHealth(
  publish: (id: string, cooldown: Cooldown | undefined) => void,
  now: () => number = Date.now,
): SharedHealth {
  const cooldowns = new Map<string, Cooldown>()
  const forgetEnded = (): void => {
    for (const [id, { until }] of cooldowns) if (until <= now()) cooldowns.delete(id)
  }
  const receive = (id: string, cooldown: Cooldown | undefined): void => {
    cooldowns.delete(id)
    if (cooldown === undefined) return
    if (cooldowns.size >= maxCooldowns) forgetEnded()
    const [oldest] = cooldowns.keys()
    if (cooldowns.size >= maxCooldowns && oldest !== undefined) cooldowns.delete(oldest)
    cooldowns.set(id, cooldown)
  }
  return {
    state: {
      read: (id) => cooldowns.get(id),
      write(id, cooldown) {
        receive(id, cooldown)
        publish(id, cooldown)
      },
    },
    receive,
    entries() {
      forgetEnded()
      return [...cooldowns]
    },
  }
}
