import { statusIn } from '../../base/client-formats.ts'
import { sendGoodResponse } from '../../base/upstream-responses.ts'
import type { Check } from '../check.ts'
import { exchange } from '../client.ts'
import { tally } from '../measurements.ts'
import { readError } from '../read-responses.ts'

const statuses = [301, 302, 303, 307, 308]

/** An upstream that redirects the call, and thereby its credential, to another host. */
export const redirect: Check = {
  row: 17,
  group: 'Faults',
  title: 'Redirect from upstream',
  promise: 'not followed, 502',
  async run({ target, upstream }) {
    const complaints: string[] = []
    let total = 0
    for (const pair of target.pairs)
      for (const status of statuses) {
        const scene = upstream.play((call) => {
          if (call.number > 1) return sendGoodResponse(call)
          call.response.writeHead(status, { location: `${upstream.origin}${call.path}` })
          call.response.end()
        })
        const answer = await exchange(target, { ...pair, text: scene.marker })
        scene.end()
        total++
        const what = `${pair.client} from ${pair.upstream}, ${status}`
        if (scene.calls.length !== 1) complaints.push(`${what}: ${scene.calls.length} calls upstream`)
        else if (answer.status !== statusIn(pair.client, 502))
          complaints.push(`${what}: returned status ${answer.status}`)
        else if (readError(pair.client, answer) === undefined) complaints.push(`${what}: not in the dialect`)
        else if (answer.text.includes(`:${upstream.port}`)) complaints.push(`${what}: reveals an internal host`)
      }
    return {
      held: complaints.length === 0,
      figure: `${total - complaints.length}/${total} returned 502 without following`,
      notes: tally(complaints),
    }
  },
}
