import type { Cooldown } from '@modelgate/core'
import type { DemoAddress } from '../config/demo.ts'

/** Settings that a worker receives from its primary process when it starts. */
export interface Welcome {
  readonly generatedToken: string
  readonly generatedAdminToken: string
  readonly compactionSecret: string
  /** The primary process holds the tokens. False: they are in Redis, or the configuration's code creates them. */
  readonly hasStorage: boolean
  /** Number of all workers. */
  readonly workers: number
  /** Undefined: there is no ledger. */
  readonly ledger: { readonly canRead: boolean } | undefined
  readonly demo: DemoAddress | undefined
  readonly cooldowns: readonly (readonly [id: string, cooldown: Cooldown])[]
}
