import { OutsideError } from '../errors.ts'
import type { Env } from '../world.ts'
import type { ModelgateConfig } from './define-config.ts'

/** What the command line says of the server. */
export interface Flags {
  readonly config?: string | undefined
  readonly port?: string | undefined
  readonly host?: string | undefined
}

/** Where to listen: flags before the environment before the file. Throws an Error that names which of them is wrong. */
export function addressOf(flags: Flags, env: Env, config: ModelgateConfig): { host: string; port: number } {
  const [name, given] = (
    [
      ['--port', flags.port],
      ['PORT', env.PORT || undefined],
      ['port', config.port],
    ] as const
  ).find(([, value]) => value !== undefined) ?? ['port', 8787]
  const port = typeof given === 'number' || (typeof given === 'string' && given !== '') ? Number(given) : Number.NaN
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new (name === 'port' ? Error : OutsideError)(
      `${name} is '${String(given)}': set it to a number from 0 to 65535`,
    )
  return { host: flags.host ?? (env.HOST || config.host || '127.0.0.1'), port }
}
