import type { Check } from '../check.ts'
import { bodySize } from './body-size.ts'
import { depth } from './depth.ts'
import { exact } from './exact.ts'
import { framing } from './framing.ts'
import { fuzz } from './fuzz.ts'
import { giant } from './giant.ts'
import { malformed } from './malformed.ts'
import { hostileNames } from './names.ts'
import { uploads } from './upload.ts'

export const inputChecks: readonly Check[] = [
  bodySize,
  depth,
  malformed,
  exact,
  fuzz,
  giant,
  hostileNames,
  framing,
  uploads,
]
