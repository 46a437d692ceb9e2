"""Words that name nothing by themselves. A note called by one of them is meant only where it is spelled as a name."""

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
able access account act action active add added address age agenda ago agree air almost alone already always amount
analysis answer appear apply approach archive area around article ask assets attachment author away back bad base
based basic beginning best better big bit blank block board body book books bottom box break brief bring budget bug
bugs build business button buy call case cases cause center certain chance change changed changes chapter check child
choice choose city class clear close code collection color come command comment common community company complete
concept condition config configuration connect consider contact contacts content context continue control copy core
correct cost count country couple course create created current customer cut daily data date day days deal decide
decision decisions default define definition description design detail details develop development difference
different difficult directory discuss discussion document documentation documents done door double draft draw drive
drop early easy edit editor effect either else email empty end enough enter entire entry error errors even event
events ever every everyone everything example examples existing expect experience explain external extra eye face fact
fail family far fast feature features feedback feel field file files fill final finally find fine finish first fix
flow focus folder follow following food force form format forward free friend friends front full fun function
functions future game general getting goal goals going good great group groups grow guide half hand handle happen
happy hard head health hear help high history hold home hope hour hours house however human idea ideas image images
important improve inbox include index info information inside instead interest internal introduction issue issues item
items job journal keep key kind know knowledge known large last late later law lead learn learning least leave left
less let letter level library life light like likely limit line lines link links list lists little live local location
log long look lot love low machine main make making man manage management manager manual many map mark market matter
maybe mean means media meet meeting meetings member members memory mention menu message method middle mind minute miss
mode model moment money month months morning move movie music name names national natural nature near need needs
network never new news next nice night none normal note notes nothing number numbers object objects office often old
one online open option options order original others outline outside overview page pages paper part parts party past
path pattern people percent perhaps period person personal phone photo pick picture piece place plan plans play please
plugin point policy poor position possible post power practice present press pretty price private problem problems
process product products profile program progress project projects property provide public purpose put quality
question questions quick quickly quite quote range rate rather raw read reader reading ready real really reason recent
recipe record red reference references release remember remove report reports request require research resource
resources rest result results return review right risk road role room root rule rules run running safe sample save say
scale schedule school science search second section security see seem select self send sense series serve server
service services session set setting settings setup several shape share short show side sign similar simple since
single site size skill sleep small social software solution someone something sometimes soon sort sound source sources
space special specific stand standard start state statement status stay step steps still stop store story strategy
street strong structure student study stuff style subject success summary support sure system systems table tag tags
take talk target task tasks team tell template templates term terms test tests text theme theory thing things think
though thought thoughts time times title today together tomorrow tool tools top topic topics total toward town track
training travel tree true trust try turn two type types understand unit update updates usage use used useful user
users using usual value values version video view visit voice wait walk wall want war watch water way web website week
weekly well white whole wide wish without woman word words work working world worth write writing wrong year years
yesterday young
"""

STOP_WORDS = frozenset(_GRAMMAR.split())
"""Words of grammar. No spelling makes a name of one, but for a capital within, as in IT."""

COMMON_WORDS = STOP_WORDS | frozenset(_EVERYDAY.split())
"""And the commonest words of English beside them."""
