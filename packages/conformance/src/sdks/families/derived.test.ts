import { derivedFamilies } from './derived.ts'
import { runFamily } from './family-suite.ts'

for (const family of derivedFamilies) runFamily(family)
