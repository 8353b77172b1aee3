import type { Play, UpstreamCall } from '../../base/raw-upstream.ts'
import { slowDown } from '../../base/streams.ts'
import { answerJson, formatOf } from '../../base/upstream-answers.ts'

/** An error status with nothing beside it. */
export const failing =
  (status: number, headers: Readonly<Record<string, string>> = {}): Play =>
  (call) =>
    answerJson(call, status, { type: 'error', error: { message: `Failed with ${status}.` } }, headers)

/** A rate limit in the words of the call's format. */
export const limiting =
  (headers: Readonly<Record<string, string>> = {}): Play =>
  (call) =>
    answerJson(call, 429, slowDown[formatOf(call)], headers)

export const resetting: Play = ({ socket }: UpstreamCall) => void socket.resetAndDestroy()
export const silent: Play = () => {}
