import { render } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { Info } from '../../info.ts'
import { gatewayAt } from '../address.ts'
import { fetchInfo } from '../info.ts'
import { Header } from '../parts/frame.tsx'
import { PageLinks } from '../parts/page-links.tsx'
import { Tabs } from '../parts/tabs.tsx'
import { useMedia } from '../parts/use-media.ts'
import { ChatTab } from './chat-tab.tsx'
import { OperationTab } from './operations/lazy-tab.tsx'
import { type TabId, tabs, useTab } from './operations/tabs.ts'
import { type TabProps, tabsName } from './panes.tsx'
import { useToken } from './settings/use-token.ts'
import { isOpenedByShare } from './share/use-shared.ts'

const toRoot = '../'

function Playground() {
  const [gateway] = useState(() => gatewayAt(location.href, toRoot))
  const [info, setInfo] = useState<Info>()
  const isOpen = info?.requiresToken === false
  const { kept, checked, changeToken, check } = useToken(gateway, isOpen)
  const [tab, chooseTab] = useTab(isOpenedByShare)
  const [settingsOpen, setSettingsOpen] = useState(true)
  const [wide, setWide] = useState(false)
  const narrow = useMedia('(max-width: 68rem)')
  useEffect(() => {
    fetchInfo(toRoot).then(setInfo, () => undefined)
  }, [])
  const shared: TabProps = {
    gateway,
    canExplain: info?.explain === true,
    frame: {
      kept,
      checked,
      isOpen,
      open: settingsOpen,
      onOpen: setSettingsOpen,
      onToken: changeToken,
      onCheck: () => void check(),
    },
    wide,
    onWide: setWide,
    narrow,
  }
  return (
    <div class="playground">
      <Header home={toRoot}>
        <PageLinks info={info} folder="./" current="playground" />
      </Header>
      <main id="main" tabIndex={-1}>
        <h1 class="out-of-sight">Playground</h1>
        <div class="mode-tabs">
          <Tabs
            name={tabsName}
            label="Operation"
            tabs={tabs}
            chosen={tab.id}
            onChoose={(id) => chooseTab(id as TabId)}
          />
        </div>
        <ChatTab {...shared} isShown={tab.id === 'chat'} onShow={() => chooseTab('chat')} />
        {tab.id === 'chat' ? null : (
          <OperationTab {...shared} key={tab.id} id={tab.id} wanted={tab} onOpen={chooseTab} />
        )}
      </main>
    </div>
  )
}

const app = document.getElementById('app')
if (app !== null) render(<Playground />, app)
