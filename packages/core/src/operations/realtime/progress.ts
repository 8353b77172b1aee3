import { type CallRecord, finishEventOf } from '../../accounting/call-record.ts'
import { isThenable } from '../../base/async.ts'
import { GatewayError } from '../../base/errors.ts'
import type { GatewayContext } from '../../calls/call.ts'
import type { FinishEvent } from '../../config/finish-event.ts'
import type { RealtimeCut } from '../../config/realtime.ts'
import type { SessionKind } from './session-kinds.ts'

/** Reports the usage of a session while it runs. */
export interface Progress {
  /** Resolves when an admission ends the session. */
  readonly cut: Promise<RealtimeCut>
  /** Must be called when the usage of the record has changed. */
  report(): void
}

/** Reports to the admissions of a session, each of which may end it. A session has no known end, and may cost any amount until then. */
export function createProgress(
  record: CallRecord,
  { plugins, logger }: Pick<GatewayContext, 'plugins' | 'logger'>,
  { close }: Pick<SessionKind, 'close'>,
): Progress {
  let resolve: (cut: RealtimeCut) => void = () => {}
  const cut = new Promise<RealtimeCut>((settle) => {
    resolve = settle
  })
  const fail = (error: unknown): void => {
    if (error instanceof GatewayError) resolve({ closing: close(error, ''), ending: { outcome: 'failed', error } })
    else logger.error('modelgate: progress of an admission failed; the session continues', error)
  }
  return {
    cut,
    report() {
      let event: FinishEvent | undefined
      for (const admission of record.admissions ?? []) {
        if (admission.progress === undefined) continue
        event ??= finishEventOf(record, { status: 101, outcome: 'finished' }, plugins, logger)
        try {
          const pending: unknown = admission.progress(event)
          if (isThenable(pending)) Promise.resolve(pending).catch(fail)
        } catch (error) {
          fail(error)
        }
      }
    },
  }
}
