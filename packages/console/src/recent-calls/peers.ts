import type { CallFacts } from '../calls.ts'
import type { RecentBodies } from './recent-bodies.ts'
import type { RecentCall } from './recent-call.ts'

/**
 * Other processes that serve the same gateway. The pages of each show the calls of all. Calls are sent as plain data; facts for the Playground
 * and bodies stay in the process of their call until a page needs them.
 */
export interface ConsolePeers {
  /** Sends a call of this process to the others. */
  publish(call: RecentCall): void
  /** Sets the function that takes over the calls of the others. */
  subscribe(receive: (call: RecentCall) => void): void
  /** Asks the others for the facts of a call. */
  findFacts(requestId: string): Promise<CallFacts | undefined>
  /** Asks the others for the bodies of a call. */
  findBodies(requestId: string): Promise<RecentBodies | undefined>
  /** Sets the functions that find facts and bodies for the others. */
  provide(find: {
    facts(requestId: string): CallFacts | undefined
    bodies(requestId: string): RecentBodies | undefined
  }): void
}
