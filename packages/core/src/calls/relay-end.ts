/** How a relayed stream ended, for the books. */
export interface RelayEnd {
  readonly outcome: 'finished' | 'failed' | 'aborted'
  readonly error?: unknown
}
