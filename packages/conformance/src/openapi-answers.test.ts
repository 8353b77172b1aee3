import { writeFileSync } from 'node:fs'
import { test } from 'vitest'
import { answerDocuments, asking } from './openapi-answers.ts'
import { walkOf } from './openapi-formats.ts'
import { pairs, sendAnswer } from './openapi-journeys.ts'
import { travel } from './openapi-verdict.ts'
import { probesOf } from './openapi-walk.ts'

test('x', () => {
  const lines: string[] = []
  for (const [upstream, client] of pairs) {
    const seen = new Set<string>()
    const probes = answerDocuments[upstream.format]
      .flatMap((d) => probesOf(walkOf(d)))
      .filter((p) => {
        const k = p.path + JSON.stringify(p.kind === 'token' ? '' : p.value)
        return seen.size < seen.add(k).size
      })
    const o = travel(probes, {
      from: upstream.format,
      to: client.format,
      humble: false,
      meanings: [],
      exemptions: [],
      needed: new Set(),
      send: (b) => sendAnswer(upstream, client, asking[client.format], b),
    })
    console.log(upstream.format, client.format, probes.length, o.kept, o.reported, o.lost.length)
    lines.push(...o.lost.map((l) => `${upstream.format}>${client.format} ${l}`))
  }
  writeFileSync('/tmp/alines.txt', lines.join('\n'))
})
