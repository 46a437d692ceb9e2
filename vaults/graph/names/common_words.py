"""Words that name nothing by themselves. A note named by one of them is meant only where it is spelled as a name."""

from __future__ import annotations

_GRAMMAR = """
a about above after again against all also am an and any are as at be because been before being below between both but
by can cannot could did do does doing don down during each few for from further get give had has have having he her
here hers herself him himself his how i if in into is it its itself just may me might more most must my myself no nor
not now of off on once only or other our ours ourselves out over own re same shall she should so some such than that
the their theirs them themselves then there these they this those through to too under until up upon us very was we
were what when where which while who whom whose why will with would yes yet you your yours yourself yourselves
"""

_EVERYDAY = """
able abstract academic accept access accident account accountability accuracy accurate achieve acknowledgements
acquire act action active adapt adapter add added addition address admin administrator advance advantage adventure
advice affair affect age agency agenda agent aggregate agile ago agree aim air alarm album alert algorithm alias align
allow almost alone already alternative always ambition amount analysis analyst analytics anchor angle animal
annotation announce announcement annual answer anxiety apartment apologize app appear appearance appendix apple
application apply appointment approach approval april architect architecture archive area argument arm army around
arrange array arrival arrive arrow art article artifact artist ask aspect assembly assessment assets assign assistant
association assume assumption atmosphere attach attachment attack attempt attendance attention attitude attribute
audience audio audit august authentication author authority authorization automation availability average avoid award
aware awareness away axis back backend background backlash backlink backlog backup bad badge balance ball band bank
banner bar barrier base based baseline basic basis basket batch bath battery battle beach beam bear beat beautiful
beauty become bed begin beginning behave behavior behaviour belief believe bell belong belt bench benchmark benefit
best bet better bias bibliography bicycle big bike bill binary bird birth birthday bit bite blame blank block
blockquote blog blood bloom blow blue board boat body boilerplate bolt bonus book bookmark boost boot border borrow
boss bottle bottom boundary bowl box brain brainstorm branch brand bread break breakfast breath breathe bridge brief
bright bring broad broadcast brother browser brush bucket budget buffer bug build builder building bullet bundle burn
bus business busy button buy byte cabinet cache cake calculate calendar call caller callout calm camera camp campaign
canvas capability capacity capital caption capture car carbon care career careful cargo carrier carry cart case cash
cast catalog catalogue catch category cause ceiling celebrate cell center centre ceremony certain certificate chain
chair challenge champion chance change changed changelog channel chapter character charge charity chart chat cheap
cheatsheet check checkbox checklist checkpoint cheer cheese chef chemistry chest chicken chief child chip chocolate
choice choose church circle circuit circumstance citation citizen city claim clarify clarity class classification
clause clean cleaning cleanup clear clearance clerk clever click client climate climb clip clipboard clock clone close
cloth cloud club cluster coach coast coat code codeblock coding coffee cognition coin cold collapse colleague collect
collection college color colour column combination combine come comfort command comment commission commit commitment
committee common communicate communication community company compare comparison compete competition compiler complain
complete completion complex complexity compliance component compose composition comprehensive compression compute
computer computing concentrate concept concern concert conclude conclusion concurrency condition conduct conference
confidence config configuration configure confirm confirmation conflict confuse connect connection consequence
consider consideration consist consistency console constant constraint construction consume consumer contact contain
container content contest context continue contract contrast contribute contribution contributor control convention
conversation conversion convert convince cook cookie cooking cool coordinate cope copy core corner correct correction
corridor cost costume cottage council count counter country couple course coverage craft crash crawl create created
creation creative creator creature credit crew crime crisis criteria critical criticism crop cross crowd crush cry
culture cup curiosity curious currency current curriculum curve custom customer customization cut cycle daily dance
danger dare dark dashboard data database dataset date day deadline deal dealer death debate debt debug debugging
decade december decide decision declaration decorator deep default defect defense define definition degree delay
delete deliver delivery demand demo democracy demonstration deny department depend dependency deploy deployment depth
derivative derive describe description deserve design desk desktop destination destroy destruction detail detailed
detect determine develop developer development device diagnosis diagram dialog dialogue diary dictionary diet differ
difference different difficult dig digital dimension dinner direction director directory disagree disappear disaster
discipline discover discovery discuss discussion disease dish disk dislike display distance distinct distinguish
distribution district dive diversity divide division doctor document documentation dog dollar domain dominate done
door dot double download downstream draft drag draw dream dress drink drive driver drop dropdown duck duty dynamic ear
early earn earth east easy eat economics economy edge edit edition editor education effect efficiency efficient effort
egg either election electricity elegant element eliminate else email embed embrace emerge emergency emotion emphasis
emphasize employee employer employment empty enable encoding encounter encourage encryption end energy enforce engage
engine engineer engineering enhance enjoy enough ensure enter enterprise entertainment enthusiasm entire entity
entrance entry environment episode equality equation equipment equivalent era error escape essay essence essential
establish estate estimate ethics evaluate evaluation even evening event ever every everyday everyone everything
evidence evolution evolve exact exam examine example exceed excellent exception exchange excitement exclude execute
execution executive exercise exist existence existing expand expansion expect expectation expense experience
experiment expert expertise expire explain explanation explicit explode exploration explore explorer export expose
exposure express expression extend extension extent external extra extract extraction eye fabric face facility fact
factor factory fade fail failure fair faith fall fallback familiar family famous fan fantasy faq far farm farmer
fashion fast fasten fat father fault favorite fear feature february federation fee feed feedback feel fence festival
fetch fiction field fight figure file filename fill film filter final finally finance financial find finding fine
finger finish fire firm first fish fitness fix flag flash flat flavor flexibility flexible flight floor flow flower
fly focus fold folder follow following font food foot football footer footnote forbid force forecast foreign forest
forget forgive fork form formal format formatter formatting formula forum forward foundation fragment frame framework
free freedom freeze frequency frequent friday friend friendly front frontend frontmatter fruit fuel full fun function
fund fundamental funding funeral furniture future gallery game gap garage garbage garden gas gate gateway gather gear
gender gene general generate generation generator generic genre gentle genuine geography gesture getting gift girl
glass global glossary goal going gold golf good governance government grab grade grant graph graphics grass gratitude
gray great green greet grid grind grocery ground group grow growth guarantee guess guest guidance guide guideline
guitar gun guy habit hair half hall hand handbook handle handler handling hang happen happiness happy hard hardware
harm harmony harvest hash hat hate head header heading health healthy hear heart heat heaven heavy height help hero
heuristic hide hierarchy high highlight highway hill hint hire hiring history hit hobby hold hole holiday home honest
honey honor hook hope horizon horse hospital host hostname hotel hour house household however howto hub huge human
hunger hungry hunt hurry hurt husband hybrid hygiene hyperlink hypothesis ice icon idea ideal identifier identify
identity ideology ignore illegal illness illustrate illustration image imagination imagine immediate impact implement
implementation implication implicit imply import important impose impossible impress impression improve improvement
inbox incident include income increase independence independent index indicate indicator individual industry
inevitable infer inference inflation influence info inform information ingredient inherit inheritance initial
initiative injury inline inner innocent innovation input inquiry insert inside insight insist inspect inspection
inspiration inspire install installation installer instance instead instinct institution instruction instrument
insurance integer integrate integration integrity intelligence intelligent intent intention interaction interactive
interest interesting interface internal interpretation interval interview intro introduce introduction introspection
invalid invent invention inventory invest investigate investigation investment invitation invite invoice involve iron
island isolation issue item iterate iteration iterator jacket january job join joke journal journey joy judge judgment
juice july jump june junior jury justice justification keep key keyboard keyword kick kid kill kind king kiss kitchen
knee knife knock know knowledge known label labor laboratory lack lady lake land landing landscape lane language
laptop large last late latency later laugh launch launcher laundry law lay layer layout lazy lead leader leadership
leaf league learn learning least leather leave lecture left legacy legal legend lemma lemon lend lens less lesson let
letter level liability liberty library license lie life lifecycle lifestyle lift light like likely limit limitation
line linguistics link lion liquid list listen listener literature little live loan lobby local localhost location lock
log logic login logo lonely long look loop lose loss lot love low luck lucky lunch lung lyrics machine mad mail
mailbox main maintain maintenance major make maker making mall man manage management manager manifest manifesto
manipulate manual many map march margin mark markdown marker market marketing marriage master match material math
mathematics matrix matter mature maturity maximum maybe meal mean meaning measure measurement meat mechanic mechanism
media medicine meditation medium meet meeting melody member memo memoir memorize memory mental mention mentor menu
merge message metadata metal metaphor method methodology metric microservice middle middleware migration mild mile
milestone military milk mind mine minimum minister ministry minor minority minute mirror misc miscellaneous miss
mission mistake mixture mobile modal mode model moderation modification modifier modify module moment monday money
monitor monitoring month mood moon moral morning mortgage mother motion motivate motivation motor mountain mouse mouth
move movement movie multiplication multiply murder muscle museum music musician mutation mutual mystery myth name
namespace narrative nation national native natural nature navigation near neat neck need negative negotiate
negotiation neighbor neighborhood nerve nervous nest network networking neutral never new newsletter next nice night
noble node noise nomination none normal north nose notation note notebook nothing notification notify notion novel
november nucleus number nurse nutrition obey object objective obligation observation observe observer obtain obvious
occasion occupation occur ocean october odd offer office officer official often oil old onboarding one online ontology
open opening opera operate operation operator opinion opponent opportunity opposite optimization optimize option
orange orchestra orchestration order ordinary organ organization organize orientation origin original others outcome
outer outline output outside oven overcome overhead overview owe owner ownership package packet page pain paint
painting pair palace panel panic paper paragraph parallel parameter parent parking parliament parser parsing part
participant participate partition partner partnership party pass passage passenger passion passive password past patch
path pathname patience patient pattern payment peace peak peer penalty pension people pepper perceive percent
perception perfect perform performance perhaps period permanent permission permit person personal personality
perspective persuade phase phenomenon philosophy phone photo phrase physical physics piano pick picture pie piece
pilot pin pipe pipeline pitch pizza place placeholder plain plan planet planner planning plant plate platform play
player playground pleasant please pleasure plot plugin podcast poem poet poetry point pointer police policy politics
poll pollution polymorphism pool poor pop popular population popup port portfolio portion portrait position positive
possess possession possibility possible post postmortem postpone pot potato potential pound pour poverty power
powerful practical practice praise pray prayer precious precise precision predict prefer preference prefix pregnancy
preparation prepare presence present presentation preset president press pressure pretty prevent prevention preview
previous price primary prime prince principle print printer priority prison privacy private privilege prize
probability problem procedure proceed process processing processor producer product production productive productivity
profession professional professor profile profit program programmer programming progress project promise promote
promotion prompt proof propagation proper property proposal propose prose protect protection protein protest protocol
prototype proud prove provide provider proxy psychology public publication publish publisher pull pump punish purchase
pure purpose pursue push put puzzle pyramid qualification quality quantity quarter queen query quest question queue
quick quickly quiet quirk quit quite quiz quotation quote race radio rail rain random range rank ranking rare rate
rather rating ratio rational raw reach react reaction read reader reading readme ready real reality realize really
realm reason rebase reboot recall receipt receive recent reception recipe recognition recognize recommend
recommendation record recording recover recovery recreation recruitment recursion red redirect reduce reduction
redundancy refactor refactoring refer reference refine reflection reform refresh refrigerator refund refuse regard
regex region register registration registry regression regret regular regulation reject rejection relate relation
relationship relative relax release relevant reliability reliable relief religion rely remain remember remind remote
remove render rendering rent repair repeat replace replacement replication reply repo report repository represent
representation reputation request require requirement rescue research reservation reserve reset resident resilience
resist resistance resolution resolve resource respect respond response responsibility responsible rest restart
restaurant restore restrict restriction result resume retirement retreat retrieval retrieve retrospective return reuse
reveal revenue review revision revolution reward rhythm rice rich ride right ring rise risk ritual river road roadmap
robot robust rock role roll rollback rollout roof room root rope rough round route router routine row royal rubber
rude rule run running runtime rush sacrifice sad safe safety sail salad salary sale salt sample sand sandbox
satisfaction satisfy saturday sauce save say scale scan scatter scenario scene schedule scheduler schema scheme
scholar scholarship school science scope score scratch scream screen screenshot script scrolling sea search seat
second secondary secret secretary section sector secure security see seed seek seem seize select selection selector
self semantics semester seminar send senior sense sensitive sensor sentence sentiment separate separation september
sequence serializer series serious sermon serve server service session set setting settle setup several shadow shake
shape shaping share sharp sheet shell shelter shift shine ship shirt shock shoe shoot shop shopping short shortcut
shot shoulder shout show shower shut sibling sick side sidebar sign signal signature significance silence silent
silver similar simple simplify since sing singer single sink sister sit site situation size sketch skill skin skip sky
slash sleep slice slide slip slot slow small smart smell smile smooth snapshot snippet snow social society sock soft
software soil solar soldier solid solution solve someone something sometimes song soon sort sorting soul sound soup
source south space spacing spam span spare speak speaker speaking special specialist specific specification specify
speech speed spell spelling spend spirit split spoil sponsor sport spot spread spreadsheet spring sprint square
stability stable stack staff stage stakeholder stamp stand standard standup star stare start state statement static
station statistics stats status stay steady steal steel stem step stick still stock stomach stop storage store storm
story straight strain strange stranger strategy stream streaming street strength stress stretch strict strike string
strip strive strong structure struggle stub student study stuff stupid style stylesheet subject submit subscriber
subscription substance suburb subway succeed success sudden suffer suffix sugar suggest suggestion suit suitable sum
summary summer sun sunday supervisor supplier supply support suppose sure surface surgery surprise survey survival
survive suspect swear sweet swim swing switch symbol sympathy symptom sync synchronization syntax synthesis system tab
table tablet tactic tag tagline tail take talent talk tall tank tape target task tax taxonomy tea teach teacher
teaching team teamwork tear technical technique technology telephone television tell temperature template temple
temporary tend tendency tennis tension term terminal terminology terrible territory test testing text textbox texture
thanks theater theme theorem theorist theory therapy thesis thick thin thing think though thought thread threat
threshold throat throughput throw thursday ticket tier tight tile till time timeline timer timestamp timezone tiny tip
tire tissue title toast today together token tolerance tomorrow tone tongue tool toolbar toolkit tooltip tooth top
topic total touch tough tour tourist toward tower town toy trace track tracker tracking trade tradition traffic
trailer trainer training trait transaction transfer transformation transition translate translation transport
transportation trash travel traveler treasure treat treatment treaty tree trend trial tribe trick trigger trim trip
troop trouble troubleshooting truck true trunk trust truth try tube tuesday tuning tunnel turn tutorial twist two type
typical typography ugly uncertainty uncle understand understanding undo uniform union unique unit unity universal
universe university unknown unlock update upgrade upload upper upstream urgent usage use used useful user username
using usual utility vacation vague valid validate validation validator valley value vanish variable variant variation
variety various vary vast vector vegetable vehicle vendor venture verb verification verify version vertical victim
victory video view viewer village violence virtual virtue virus visibility visible vision visit visitor visual
vocabulary voice volume volunteer vote vulnerability wage wait wake walk wall wander want war warehouse warm warn
warning warranty wash waste watch water wave way weak wealth weapon wear weather web webinar website wedding wednesday
week weekend weekly weigh weight weird welcome welfare well west wet wheat wheel whisper white whitepaper whole wide
widget width wife wiki wikilink wild win wind window wine wing winner winter wire wireframe wisdom wise wish withdraw
without witness wizard woman wonder wonderful wood wool word work workaround worker workflow working workload workshop
workspace world worry worth wrap wrapper write writer writing wrong yard year yesterday yield young youth zone
"""

_TECHNICAL = """
AJAX API APIs ARM ASCII ASIC AWS BIOS BSD CDN CEO CFO CI CLI CLR CMS COO CORS CPU CRM CRUD CSS CSV CTO DDoS DEBUG DHCP
DNS DOM DRY EOF ERP ESLint ETA ETL FAQ FIFO FIXME FTP FYI GCP GET GitHub GitLab GNU GPL GPU GraphQL GUI HDD HEAD HTML
HTTP HTTPS IDE IMAP INFO iOS IoT IPv4 IPv6 ISO JavaScript JDBC JPEG JPG JSON JSX JVM JWT KPI LAN LDAP LIFO LLM LLMs
LTS MacOS MIT MVC MVP MySQL NaN NFS NoSQL NOTE NPM NULL OAuth ODBC OKR OOP ORM PATCH PDF PhD PHP PNG PostgreSQL POST
PR PUT PyPI QA RAM RBAC README REPL REST RFC RGB ROI RPC RSS SaaS SDK SEO SHA SLA SLO SMTP SOAP SQL SQLite SSD SSH SSL
SSO STDIN SVG TBD TCP TDD TL TLDR TLS TODO TSV TSX TypeScript UDP UI UML URI URL URLs USB UTC UTF UUID UX VM VPN WARN
WASM WebSocket WIP XML XSS YAML YouTube ZIP
"""

_STANDARDS = """
AES ANSI ASCII BASE CP ECMA ES GPT IEEE IPV ISO LATIN MD MP PEP RFC RSA SHA UTF WIN
"""

STOP_WORDS = frozenset(_GRAMMAR.split())
"""Words of grammar. Only a capital inside the word makes a name of one, as in IT."""

TECHNICAL_TERMS = frozenset(word.casefold() for word in _TECHNICAL.split())
"""Technical terms, of which every technical text is full."""

STANDARDS = frozenset(_STANDARDS.split())
"""Prefixes of standards, whose numbers are not ticket numbers."""

_COMMON = STOP_WORDS | frozenset(_EVERYDAY.split())

_ENDINGS = (("ies", "y"), ("es", ""), ("s", ""), ("ing", ""), ("ing", "e"), ("ed", ""), ("ed", "e"), ("ly", ""))


def is_everyday(word: str) -> bool:
    """Whether a lower-case word, or the word it is a form of, is one of grammar or of the commonest of English."""
    if word in _COMMON:
        return True
    return any(word.endswith(ending) and word[: -len(ending)] + stem in _COMMON for ending, stem in _ENDINGS)
