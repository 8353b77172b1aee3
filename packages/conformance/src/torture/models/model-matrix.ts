import type { Check, CheckContext, Outcome, Target } from '../check.ts'
import { call, inFolder, withTokens } from '../secrets/callers.ts'
import { casesOf, controlOf, faultOf, type ModelCase, type Observed } from './matrix.ts'
import { realtimeCases } from './realtime-cases.ts'
import { listedModels, type Surface, surfaces } from './surfaces.ts'

/** Maximum number of printed faults. */
const mostNotes = 20

/** Sends a request and reports whether an upstream was called: no other calls run meanwhile. */
async function observe(
  setting: CheckContext,
  target: Target,
  token: string,
  { surface, headers, body }: Pick<ModelCase, 'surface' | 'headers' | 'body'>,
): Promise<Observed> {
  const before = setting.upstream.requests
  const { status, text } = await call(
    target,
    'POST',
    surface.path,
    { ...headers, authorization: `Bearer ${token}` },
    // A form's bytes are all ASCII.
    typeof body === 'string' ? body : Buffer.from(body).toString('latin1'),
  )
  return { status, text, reached: setting.upstream.requests > before }
}

/** The short form has one translation per format: models are checked before the lane is selected. */
const inShort = ({ lane, name, format }: Surface): boolean =>
  lane !== 'translate' || name === `generate ${format} > ${format === 'messages' ? 'chat' : 'messages'}`

/**
 * Selection of the short form for lanes other than pass-through: other parts and spellings do not depend on the lane.
 */
const isMain = ({ place, variant }: ModelCase): boolean =>
  !place.startsWith('extra_body') && (variant === 'listed' || variant === 'unlisted')

async function run(setting: CheckContext): Promise<Outcome> {
  return inFolder(async (folder): Promise<Outcome> => {
    const target = await withTokens(setting, folder, { explain: true })
    if (target === undefined) return { skipped: 'its tokens cannot be issued by this kit' }
    const { secret } = await target.local.issue({ name: 'limited', models: listedModels })
    const faults: string[] = []
    let count = 0
    let nth = 0
    for (const surface of surfaces) {
      if (setting.short && !inShort(surface)) continue
      const ask = (one: Pick<ModelCase, 'surface' | 'headers' | 'body'>) => observe(setting, target, secret, one)
      const control = await ask(controlOf(surface))
      const large = !setting.short && surface.lane === 'wire' && surface.parts === undefined
      for (const one of [...casesOf(surface), ...(large ? casesOf(surface, { large }) : [])]) {
        if (setting.short && surface.lane !== 'wire' && !isMain(one)) continue
        // `model-names.test.ts` runs all of them in process.
        if (setting.short && surface.lane === 'wire' && nth++ % 3 !== 0) continue
        count++
        const fault = faultOf(one, await ask(one), control)
        if (fault !== undefined) faults.push(`${one.name}: ${fault}`)
      }
    }
    const realtime = await realtimeCases()
    count += realtime.count
    faults.push(...realtime.faults)
    return {
      held: faults.length === 0,
      figure: `${count - faults.length}/${count} requests: an unlisted model reached no upstream, a listed one was not rejected`,
      notes: faults.slice(0, mostNotes),
    }
  })
}

export const modelMatrix: Check = {
  row: 45,
  group: 'Isolation',
  title: 'Models that a request names',
  promise:
    'a caller with a model list reaches no other model with any member of any request, given once, twice or in another case',
  run,
}
