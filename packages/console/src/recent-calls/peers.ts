import type { CallBodies } from '@modelgate/core'
import type { CallFacts } from '../calls.ts'
import type { RecentCall } from './recent-call.ts'

/** What the recent calls remember of a call. It is plain data, which can be sent to another process. */
export type ConsoleRecord =
  | { readonly kind: 'call'; readonly call: RecentCall }
  | { readonly kind: 'bodies'; readonly bodies: CallBodies }

/** Other processes that serve the same gateway. The pages of each show the calls of all. */
export interface ConsolePeers {
  /** Sends a record of this process to the others. */
  publish(record: ConsoleRecord): void
  /** Sets the function that takes over the records of the others. */
  subscribe(receive: (record: ConsoleRecord) => void): void
  /** Asks the others for the facts of a call that this process does not know. */
  findFacts(requestId: string): Promise<CallFacts | undefined>
  /** Sets the function that finds facts for another process. */
  provideFacts(find: (requestId: string) => CallFacts | undefined): void
}
