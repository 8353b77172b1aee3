import type { Cooldown } from '@modelgate/core'
import type { DemoAddress } from '../config/demo.ts'

/** What the primary process tells a worker that starts. */
export interface Welcome {
  readonly generatedToken: string
  readonly generatedAdminToken: string
  readonly compactionSecret: string
  /** The primary process holds the tokens. False: they are in Redis, or the configuration's code creates them. */
  readonly hasStorage: boolean
  /** Undefined: there is no ledger. */
  readonly ledger: { readonly canRead: boolean } | undefined
  readonly demo: DemoAddress | undefined
  readonly cooldowns: readonly (readonly [id: string, cooldown: Cooldown])[]
}
